//! Operations of OBS: conversion of S3 requests to calls of the store, and of results to responses.

use std::io::{Seek, SeekFrom};

use modelarts_api::hex;
use s3s::{S3, S3Request, S3Response, dto::*, s3_error};

use crate::obs::{
    conditions::Conditions,
    fields::{
        DEFAULT_TYPE, common_prefixes, content_range, contents, decode_token, delimiter,
        encode_token, encoded, is_url, no_versions, part, rows, stored_headers,
    },
    keys::ObjectName,
    pages::Selection,
    service::{MAX_DELETED, ObsService, Reply, chart_error, too_many_objects},
    transfer::{Declared, body, io_error},
    uploads::check_part_number,
};

#[async_trait::async_trait]
impl S3 for ObsService {
    // ---- buckets ----

    async fn create_bucket(&self, req: S3Request<CreateBucketInput>) -> Reply<CreateBucketOutput> {
        let location = format!("/{}", req.input.bucket);
        self.run(move |store| store.create_bucket(&req.input.bucket)).await?;
        Ok(S3Response::new(CreateBucketOutput { location: Some(location) }))
    }

    async fn head_bucket(&self, req: S3Request<HeadBucketInput>) -> Reply<HeadBucketOutput> {
        self.run(move |store| store.bucket(&req.input.bucket)).await?;
        Ok(S3Response::new(HeadBucketOutput {
            bucket_region: Some(self.region()),
            ..HeadBucketOutput::default()
        }))
    }

    async fn delete_bucket(&self, req: S3Request<DeleteBucketInput>) -> Reply<DeleteBucketOutput> {
        self.run(move |store| store.delete_bucket(&req.input.bucket)).await?;
        Ok(S3Response::new(DeleteBucketOutput::default()))
    }

    // ---- lists ----

    async fn list_buckets(&self, req: S3Request<ListBucketsInput>) -> Reply<ListBucketsOutput> {
        let prefix = req.input.prefix.clone().unwrap_or_default();
        let after = req.input.continuation_token.as_deref().map(decode_token).transpose()?;
        let max = req.input.max_buckets.unwrap_or(i32::MAX);
        let mut buckets = self.run(|store| store.buckets()).await?;
        buckets.retain(|bucket| {
            bucket.name.starts_with(&prefix) && after.as_ref().is_none_or(|it| bucket.name > *it)
        });
        let max = usize::try_from(max).unwrap_or_default();
        let more = buckets.len() > max;
        buckets.truncate(max);
        let last = buckets.last().filter(|_| more);
        let continuation_token = last.map(|bucket| encode_token(&bucket.name));
        let rows = buckets.into_iter().map(|bucket| Bucket {
            bucket_region: Some(self.region()),
            creation_date: Some(bucket.created.into()),
            name: Some(bucket.name),
        });
        Ok(S3Response::new(ListBucketsOutput {
            buckets: Some(rows.collect()),
            continuation_token,
            owner: self.owner(req.credentials.as_ref()),
            prefix: req.input.prefix,
        }))
    }

    async fn list_objects(&self, req: S3Request<ListObjectsInput>) -> Reply<ListObjectsOutput> {
        let input = req.input;
        let url = is_url(input.encoding_type.as_ref())?;
        let max_keys = rows(input.max_keys, "max-keys")?;
        let selection = Selection {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_deref()),
            after: input.marker.clone().unwrap_or_default(),
            max: usize::try_from(max_keys).unwrap_or_default(),
        };
        let page = self.list(input.bucket.clone(), selection).await?;
        let owner = self.owner(req.credentials.as_ref());
        let text = |text: String| encoded(text, url);
        Ok(S3Response::new(ListObjectsOutput {
            name: Some(input.bucket),
            prefix: Some(text(input.prefix.unwrap_or_default())),
            marker: Some(text(input.marker.unwrap_or_default())),
            max_keys: Some(max_keys),
            is_truncated: Some(page.next.is_some()),
            next_marker: page.next.map(text),
            contents: Some(contents(page.entries, owner.as_ref(), url)),
            common_prefixes: Some(common_prefixes(page.common_prefixes, url)),
            delimiter: input.delimiter.map(text),
            encoding_type: input.encoding_type,
            request_charged: None,
        }))
    }

    async fn list_objects_v2(
        &self,
        req: S3Request<ListObjectsV2Input>,
    ) -> Reply<ListObjectsV2Output> {
        let input = req.input;
        let url = is_url(input.encoding_type.as_ref())?;
        let max_keys = rows(input.max_keys, "max-keys")?;
        let after = match &input.continuation_token {
            Some(token) => decode_token(token)?,
            None => input.start_after.clone().unwrap_or_default(),
        };
        let selection = Selection {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_deref()),
            after,
            max: usize::try_from(max_keys).unwrap_or_default(),
        };
        let page = self.list(input.bucket.clone(), selection).await?;
        let owner = match input.fetch_owner {
            Some(true) => self.owner(req.credentials.as_ref()),
            _ => None,
        };
        let count = page.entries.len() + page.common_prefixes.len();
        let text = |text: String| encoded(text, url);
        Ok(S3Response::new(ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: Some(text(input.prefix.unwrap_or_default())),
            max_keys: Some(max_keys),
            key_count: i32::try_from(count).ok(),
            continuation_token: input.continuation_token,
            is_truncated: Some(page.next.is_some()),
            next_continuation_token: page.next.map(|last| encode_token(&last)),
            contents: Some(contents(page.entries, owner.as_ref(), url)),
            common_prefixes: Some(common_prefixes(page.common_prefixes, url)),
            delimiter: input.delimiter.map(text),
            encoding_type: input.encoding_type,
            start_after: input.start_after.map(text),
            request_charged: None,
        }))
    }

    // ---- objects ----

    async fn put_object(&self, req: S3Request<PutObjectInput>) -> Reply<PutObjectOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        let declared = Declared {
            length: input.content_length,
            md5: input.content_md5,
            headers: req.headers,
            trailers: req.trailing_headers,
        };
        let headers = stored_headers!(input);
        let conditions = Conditions {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
            ..Conditions::default()
        };
        let received = self.receive(&input.bucket, input.body, &declared).await?;
        let sums = received.checksum.clone();
        let stored = self
            .run(move |store| {
                let etag = hex::encode(&received.md5);
                store.store(&name, received, etag, headers, &conditions)
            })
            .await?;
        Ok(S3Response::new(PutObjectOutput {
            e_tag: Some(ETag::Strong(stored.etag)),
            checksum_crc32: sums.checksum_crc32,
            checksum_crc32c: sums.checksum_crc32c,
            checksum_crc64nvme: sums.checksum_crc64nvme,
            checksum_sha1: sums.checksum_sha1,
            checksum_sha256: sums.checksum_sha256,
            ..PutObjectOutput::default()
        }))
    }

    async fn get_object(&self, req: S3Request<GetObjectInput>) -> Reply<GetObjectOutput> {
        let input = req.input;
        let conditions = Conditions {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
            if_modified_since: input.if_modified_since,
            if_unmodified_since: input.if_unmodified_since,
        };
        no_versions(input.version_id.as_deref(), input.part_number)?;
        let (object, range, file) = self
            .run(move |store| {
                let read = store.read(&input.bucket, &input.key);
                let (object, mut file) = read.map_err(|error| chart_error(&input.key, error))?;
                conditions.check_read(&object)?;
                let range = part(input.range, object.size)?;
                if let (Some(file), Some(part)) = (&mut file, &range) {
                    file.seek(SeekFrom::Start(part.start)).map_err(io_error)?;
                }
                Ok((object, range, file))
            })
            .await?;
        let bytes = range.clone().unwrap_or(0..object.size);
        let length = bytes.end - bytes.start;
        let headers = object.headers;
        Ok(S3Response::new(GetObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            body: file.map(|file| body(file, length)),
            cache_control: headers.cache_control,
            content_disposition: headers.content_disposition,
            content_encoding: headers.content_encoding,
            content_language: headers.content_language,
            content_length: i64::try_from(length).ok(),
            content_range: range.map(|part| content_range(&part, object.size)),
            content_type: Some(headers.content_type.unwrap_or_else(|| DEFAULT_TYPE.to_owned())),
            e_tag: Some(ETag::Strong(object.etag)),
            expires: headers.expires,
            last_modified: Some(object.modified.into()),
            metadata: Some(headers.metadata),
            ..GetObjectOutput::default()
        }))
    }

    async fn head_object(&self, req: S3Request<HeadObjectInput>) -> Reply<HeadObjectOutput> {
        let input = req.input;
        let conditions = Conditions {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
            if_modified_since: input.if_modified_since,
            if_unmodified_since: input.if_unmodified_since,
        };
        no_versions(input.version_id.as_deref(), input.part_number)?;
        let (object, range) = self
            .run(move |store| {
                let (object, _) = store.read(&input.bucket, &input.key)?;
                conditions.check_read(&object)?;
                let range = part(input.range, object.size)?;
                Ok((object, range))
            })
            .await?;
        let bytes = range.clone().unwrap_or(0..object.size);
        let headers = object.headers;
        Ok(S3Response::new(HeadObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            cache_control: headers.cache_control,
            content_disposition: headers.content_disposition,
            content_encoding: headers.content_encoding,
            content_language: headers.content_language,
            content_length: i64::try_from(bytes.end - bytes.start).ok(),
            content_range: range.map(|part| content_range(&part, object.size)),
            content_type: Some(headers.content_type.unwrap_or_else(|| DEFAULT_TYPE.to_owned())),
            e_tag: Some(ETag::Strong(object.etag)),
            expires: headers.expires,
            last_modified: Some(object.modified.into()),
            metadata: Some(headers.metadata),
            ..HeadObjectOutput::default()
        }))
    }

    async fn delete_object(&self, req: S3Request<DeleteObjectInput>) -> Reply<DeleteObjectOutput> {
        let input = req.input;
        no_versions(input.version_id.as_deref(), None)?;
        self.run(move |store| store.delete(&input.bucket, &input.key)).await?;
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(
        &self,
        req: S3Request<DeleteObjectsInput>,
    ) -> Reply<DeleteObjectsOutput> {
        let DeleteObjectsInput { bucket, delete, .. } = req.input;
        if delete.objects.len() > MAX_DELETED {
            return Err(too_many_objects());
        }
        let quiet = delete.quiet.unwrap_or_default();
        let (deleted, errors) = self
            .run(move |store| {
                store.bucket(&bucket)?;
                let (mut deleted, mut errors) = (Vec::new(), Vec::new());
                for object in delete.objects {
                    match store.delete(&bucket, &object.key) {
                        Ok(()) => deleted.push(DeletedObject {
                            key: Some(object.key),
                            ..DeletedObject::default()
                        }),
                        Err(error) => errors.push(Error {
                            code: Some(error.code().as_str().to_owned()),
                            key: Some(object.key),
                            message: error.message().map(str::to_owned),
                            version_id: None,
                        }),
                    }
                }
                Ok((deleted, errors))
            })
            .await?;
        Ok(S3Response::new(DeleteObjectsOutput {
            deleted: (!quiet).then_some(deleted),
            errors: Some(errors),
            request_charged: None,
        }))
    }

    async fn copy_object(&self, req: S3Request<CopyObjectInput>) -> Reply<CopyObjectOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        let replaces = input.metadata_directive.as_ref();
        let replaces = replaces.is_some_and(|it| it.as_str() == MetadataDirective::REPLACE);
        let to_itself = matches!(&input.copy_source, CopySource::Bucket { bucket, key, .. }
            if **bucket == *input.bucket && **key == *input.key);
        if to_itself && !replaces {
            return Err(s3_error!(
                InvalidRequest,
                "A copy of an object to itself must have x-amz-metadata-directive: REPLACE."
            ));
        }
        let conditions = Conditions {
            if_match: input.copy_source_if_match,
            if_none_match: input.copy_source_if_none_match,
            if_modified_since: input.copy_source_if_modified_since,
            if_unmodified_since: input.copy_source_if_unmodified_since,
        };
        let (source, file) = self.source(input.copy_source, conditions).await?;
        let headers = if replaces { stored_headers!(input) } else { source.headers };
        let stored = self
            .run(move |store| {
                let content = store.copy_content(file, source.size)?;
                let etag = hex::encode(&content.md5);
                store.store(&name, content, etag, headers, &Conditions::default())
            })
            .await?;
        Ok(S3Response::new(CopyObjectOutput {
            copy_object_result: Some(CopyObjectResult {
                e_tag: Some(ETag::Strong(stored.etag)),
                last_modified: Some(stored.modified.into()),
                ..CopyObjectResult::default()
            }),
            ..CopyObjectOutput::default()
        }))
    }

    // ---- multipart uploads ----

    async fn create_multipart_upload(
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

    async fn upload_part(&self, req: S3Request<UploadPartInput>) -> Reply<UploadPartOutput> {
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

    async fn upload_part_copy(
        &self,
        req: S3Request<UploadPartCopyInput>,
    ) -> Reply<UploadPartCopyOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        check_part_number(input.part_number)?;
        let (id, number) = (input.upload_id, input.part_number);
        let conditions = Conditions {
            if_match: input.copy_source_if_match,
            if_none_match: input.copy_source_if_none_match,
            if_modified_since: input.copy_source_if_modified_since,
            if_unmodified_since: input.copy_source_if_unmodified_since,
        };
        let (source, mut file) = self.source(input.copy_source, conditions).await?;
        let range = input.copy_source_range.as_deref().map(Range::parse).transpose();
        let range = range.map_err(|_| {
            s3_error!(InvalidArgument, "x-amz-copy-source-range must be bytes=FIRST-LAST.")
        })?;
        let bytes = part(range, source.size)?.unwrap_or(0..source.size);
        let copied = self.run(move |store| {
            if let Some(file) = &mut file {
                file.seek(SeekFrom::Start(bytes.start)).map_err(io_error)?;
            }
            let content = store.copy_content(file, bytes.end - bytes.start)?;
            store.store_part(&name, &id, number, content)
        });
        let copied = copied.await?;
        Ok(S3Response::new(UploadPartCopyOutput {
            copy_part_result: Some(CopyPartResult {
                e_tag: Some(ETag::Strong(copied.etag)),
                last_modified: Some(copied.modified.into()),
                ..CopyPartResult::default()
            }),
            ..UploadPartCopyOutput::default()
        }))
    }

    async fn complete_multipart_upload(
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

    async fn abort_multipart_upload(
        &self,
        req: S3Request<AbortMultipartUploadInput>,
    ) -> Reply<AbortMultipartUploadOutput> {
        let input = req.input;
        let name = ObjectName::parse(&input.bucket, &input.key)?;
        self.run(move |store| store.abort_upload(&name, &input.upload_id)).await?;
        Ok(S3Response::new(AbortMultipartUploadOutput::default()))
    }
}
