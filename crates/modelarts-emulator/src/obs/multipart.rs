//! Operations on uploads in parts.

use std::io::{Seek, SeekFrom};

use s3s::{S3Request, S3Response, dto::*, s3_error};

use crate::obs::{
    conditions::Conditions,
    fields::{
        common_prefixes, delimiter, encoded, is_url, part, rows, source_conditions, stored_headers,
    },
    keys::ObjectName,
    service::{ObsService, Reply},
    transfer::{Declared, io_error},
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
        let id = self
            .run(move |store| store.begin_upload(&name, &headers))
            .await?;
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
        let part = self
            .run(move |store| store.store_part(&name, &id, number, received))
            .await?;
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

    pub(super) async fn do_upload_part_copy(
        &self,
        req: S3Request<UploadPartCopyInput>,
    ) -> Reply<UploadPartCopyOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        check_part_number(input.part_number)?;
        let range = input
            .copy_source_range
            .as_deref()
            .map(Range::parse)
            .transpose();
        let range = range.map_err(|_| {
            s3_error!(
                InvalidArgument,
                "x-amz-copy-source-range must be like bytes=0-1023."
            )
        })?;
        let conditions = source_conditions!(input);
        let (source, mut file) = self.source(input.copy_source, conditions).await?;
        let (id, number) = (input.upload_id, input.part_number);
        let stored = self
            .run(move |store| {
                let bytes = part(range, source.size)?.unwrap_or(0..source.size);
                if let Some(file) = &mut file {
                    file.seek(SeekFrom::Start(bytes.start)).map_err(io_error)?;
                }
                let content = store.copy_content(file, bytes.end - bytes.start)?;
                store.store_part(&name, &id, number, content)
            })
            .await?;
        Ok(S3Response::new(UploadPartCopyOutput {
            copy_part_result: Some(CopyPartResult {
                e_tag: Some(ETag::Strong(stored.etag)),
                last_modified: Some(stored.modified.into()),
                ..CopyPartResult::default()
            }),
            ..UploadPartCopyOutput::default()
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
        let stored = self
            .run(move |store| store.complete_upload(&name, &id, &listed, &conditions))
            .await?;
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
        self.run(move |store| store.abort_upload(&name, &input.upload_id))
            .await?;
        Ok(S3Response::new(AbortMultipartUploadOutput::default()))
    }

    pub(super) async fn do_list_parts(
        &self,
        req: S3Request<ListPartsInput>,
    ) -> Reply<ListPartsOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        let max = rows(input.max_parts, "max-parts")?;
        let after = input.part_number_marker.unwrap_or_default();
        let id = input.upload_id.clone();
        let mut parts = self
            .run(move |store| store.upload_parts(&name, &id))
            .await?;
        parts.retain(|part| part.number > after);
        let limit = usize::try_from(max).unwrap_or_default();
        let more = parts.len() > limit;
        parts.truncate(limit);
        let last = parts.last().map(|part| part.number);
        let parts = parts.into_iter().map(|part| Part {
            e_tag: Some(ETag::Strong(part.etag)),
            last_modified: Some(part.modified.into()),
            part_number: Some(part.number),
            size: i64::try_from(part.size).ok(),
            ..Part::default()
        });
        Ok(S3Response::new(ListPartsOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(input.upload_id),
            max_parts: Some(max),
            part_number_marker: Some(after),
            is_truncated: Some(more),
            next_part_number_marker: last,
            parts: Some(parts.collect()),
            owner: self.owner(req.credentials.as_ref()),
            ..ListPartsOutput::default()
        }))
    }

    pub(super) async fn do_list_multipart_uploads(
        &self,
        req: S3Request<ListMultipartUploadsInput>,
    ) -> Reply<ListMultipartUploadsOutput> {
        let input = req.input;
        let url = is_url(input.encoding_type.as_ref())?;
        let max = rows(input.max_uploads, "max-uploads")?;
        let prefix = input.prefix.clone().unwrap_or_default();
        let delimiter = delimiter(input.delimiter.as_deref());
        let bucket = input.bucket.clone();
        let after = (
            input.key_marker.clone().unwrap_or_default(),
            input.upload_id_marker.clone().unwrap_or_default(),
        );
        let limit = usize::try_from(max).unwrap_or_default();
        let page = self.run(move |store| {
            store.uploads_page(&bucket, &prefix, delimiter.as_deref(), &after, limit)
        });
        let page = page.await?;
        let owner = self.owner(req.credentials.as_ref());
        let uploads = page.uploads.into_iter().map(|upload| MultipartUpload {
            initiated: Some(upload.started.into()),
            key: Some(encoded(upload.key, url)),
            upload_id: Some(upload.id),
            owner: owner.clone(),
            ..MultipartUpload::default()
        });
        let text = |text: String| encoded(text, url);
        let is_truncated = page.next.is_some();
        let (next_key, next_id) = page.next.unzip();
        Ok(S3Response::new(ListMultipartUploadsOutput {
            bucket: Some(input.bucket),
            prefix: input.prefix.map(text),
            delimiter: input.delimiter.map(text),
            encoding_type: input.encoding_type,
            key_marker: input.key_marker.map(text),
            upload_id_marker: input.upload_id_marker,
            max_uploads: Some(max),
            is_truncated: Some(is_truncated),
            next_key_marker: next_key.map(text),
            next_upload_id_marker: next_id,
            uploads: Some(uploads.collect()),
            common_prefixes: Some(common_prefixes(page.common_prefixes, url)),
            request_charged: None,
        }))
    }
}
