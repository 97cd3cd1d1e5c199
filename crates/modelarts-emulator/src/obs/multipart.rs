//! Operations on uploads in parts.

use s3s::{S3Request, S3Response, dto::*};

use crate::obs::{
    conditions::Conditions,
    fields::stored_headers,
    keys::ObjectName,
    service::{ObsService, Reply},
    transfer::Declared,
    uploads::check_part_number,
};

/// The implementation of the trait `S3` calls these operations.
impl ObsService {
    pub(super) async fn do_create_multipart_upload(
        &self,
        req: S3Request<CreateMultipartUploadInput>,
    ) -> Reply<CreateMultipartUploadOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        let headers = stored_headers!(input);
        let id = self.run(move |store| store.begin_upload(&name, &headers)).await?;
        Ok(S3Response::new(CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(id),
            checksum_algorithm: input.checksum_algorithm,
            checksum_type: input.checksum_type,
            ..CreateMultipartUploadOutput::default()
        }))
    }

    pub(super) async fn do_upload_part(
        &self,
        req: S3Request<UploadPartInput>,
    ) -> Reply<UploadPartOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        check_part_number(input.part_number)?;
        let (id, number) = (input.upload_id, input.part_number);
        let declared = Declared {
            length: input.content_length,
            md5: input.content_md5,
            headers: req.headers,
            trailers: req.trailing_headers,
        };
        let received = self.receive(&input.bucket, input.body, &declared).await?;
        let sums = received.checksum.clone();
        let part = self.run(move |store| store.store_part(&name, &id, number, received)).await?;
        Ok(S3Response::new(UploadPartOutput {
            e_tag: Some(ETag::Strong(part.etag)),
            checksum_crc32: sums.checksum_crc32,
            checksum_crc32c: sums.checksum_crc32c,
            checksum_crc64nvme: sums.checksum_crc64nvme,
            checksum_sha1: sums.checksum_sha1,
            checksum_sha256: sums.checksum_sha256,
            ..UploadPartOutput::default()
        }))
    }

    pub(super) async fn do_complete_multipart_upload(
        &self,
        req: S3Request<CompleteMultipartUploadInput>,
    ) -> Reply<CompleteMultipartUploadOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        let listed = input.multipart_upload.and_then(|upload| upload.parts);
        let listed = listed.unwrap_or_default().into_iter().map(|part| {
            let etag = part.e_tag.map(ETag::into_value).unwrap_or_default();
            (part.part_number.unwrap_or_default(), etag)
        });
        let listed: Vec<_> = listed.collect();
        let conditions = Conditions {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
            ..Conditions::default()
        };
        let id = input.upload_id;
        let stored =
            self.run(move |store| store.complete_upload(&name, &id, &listed, &conditions)).await?;
        Ok(S3Response::new(CompleteMultipartUploadOutput {
            location: Some(format!("/{}/{}", input.bucket, input.key)),
            bucket: Some(input.bucket),
            key: Some(input.key),
            e_tag: Some(ETag::Strong(stored.etag)),
            ..CompleteMultipartUploadOutput::default()
        }))
    }

    pub(super) async fn do_abort_multipart_upload(
        &self,
        req: S3Request<AbortMultipartUploadInput>,
    ) -> Reply<AbortMultipartUploadOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        self.run(move |store| store.abort_upload(&name, &input.upload_id)).await?;
        Ok(S3Response::new(AbortMultipartUploadOutput::default()))
    }
}
