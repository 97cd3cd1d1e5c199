//! Operations of OBS on buckets and objects.

use std::{
    fs::File,
    io::{Seek, SeekFrom},
    sync::Arc,
};

use s3s::{
    S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, auth::Credentials, dto::*, s3_error,
};

use crate::{
    files::obs_path::CHARTS,
    obs::{
        conditions::Conditions,
        fields::{
            DEFAULT_TYPE, content_range, no_versions, part, read_conditions, source_conditions,
            stored_headers,
        },
        keys::ObjectName,
        records::StoredObject,
        store::ObjectStore,
        transfer::{Declared, Received, blocking, body, hex, io_error, receive},
    },
    state::EmulatorState,
};

/// Maximum number of objects of one deletion
/// (https://support.huaweicloud.com/intl/en-us/obs_faq/obs_faq_0020.html).
const MAX_DELETED: usize = 1000;

pub(super) fn too_many_objects() -> S3Error {
    s3_error!(
        MalformedXML,
        "Delete must name at most {MAX_DELETED} objects: send several requests."
    )
}

/// Returns the error for the chart of a search, which the service draws and the emulator does not.
fn chart_error(key: &str, error: S3Error) -> S3Error {
    match error.code() {
        S3ErrorCode::NoSuchKey if key.contains(CHARTS) && key.ends_with(".png") => s3_error!(
            NotImplemented,
            "This emulator does not draw the chart {key:?}: ShowAutoSearchParamsAnalysis returns \
             its numbers."
        ),
        _ => error,
    }
}

pub(super) struct ObsService {
    store: Arc<ObjectStore>,
    state: Arc<EmulatorState>,
}

pub(super) type Reply<T> = S3Result<S3Response<T>>;

impl ObsService {
    pub(super) fn new(store: ObjectStore, state: Arc<EmulatorState>) -> Self {
        Self { store: Arc::new(store), state }
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ObjectStore) -> S3Result<T> + Send + 'static,
    ) -> S3Result<T> {
        let store = Arc::clone(&self.store);
        blocking(move || work(&store)).await
    }

    /// Returns the user who signed a request, as the owner of all objects.
    pub(super) fn owner(&self, credentials: Option<&Credentials>) -> Option<Owner> {
        let key = self.state.accounts.key(&credentials?.access_key).ok()??;
        let user = self.state.accounts.user(key.user);
        Some(Owner { display_name: Some(user.name.clone()), id: Some(user.id.clone()) })
    }

    pub(super) fn region(&self) -> String {
        self.state.offer.cloud.region().to_owned()
    }

    pub(super) async fn source(
        &self,
        source: CopySource,
        conditions: Conditions,
    ) -> S3Result<(StoredObject, Option<File>)> {
        let CopySource::Bucket { bucket, key, version_id: None } = source else {
            return Err(s3_error!(
                NotImplemented,
                "x-amz-copy-source must be BUCKET/KEY: this emulator has no versions and no \
                 access points."
            ));
        };
        self.run(move |store| {
            let (object, file) = store.read(&bucket, &key)?;
            conditions.check_source(&object)?;
            Ok((object, file))
        })
        .await
    }

    pub(super) async fn receive(
        &self,
        bucket: &str,
        body: Option<StreamingBlob>,
        declared: &Declared,
    ) -> S3Result<Received> {
        let bucket = bucket.to_owned();
        let file = self.run(move |store| {
            // A missing bucket is reported before the body is read.
            store.bucket(&bucket)?;
            store.temporary()
        });
        receive(body, declared, file.await?).await
    }
}

#[async_trait::async_trait]
impl S3 for ObsService {
    // ---- buckets ----

    async fn list_buckets(&self, req: S3Request<ListBucketsInput>) -> Reply<ListBucketsOutput> {
        self.do_list_buckets(req).await
    }

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

    async fn list_objects(&self, req: S3Request<ListObjectsInput>) -> Reply<ListObjectsOutput> {
        self.do_list_objects(req).await
    }

    async fn list_objects_v2(
        &self,
        req: S3Request<ListObjectsV2Input>,
    ) -> Reply<ListObjectsV2Output> {
        self.do_list_objects_v2(req).await
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
                let etag = hex(&received.md5);
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
        let conditions = read_conditions!(input);
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
        let conditions = read_conditions!(input);
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
        let conditions = source_conditions!(input);
        let (source, file) = self.source(input.copy_source, conditions).await?;
        let headers = if replaces { stored_headers!(input) } else { source.headers };
        let stored = self
            .run(move |store| {
                let content = store.copy_content(file, source.size)?;
                let etag = hex(&content.md5);
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

    // ---- uploads in parts ----

    async fn create_multipart_upload(
        &self,
        req: S3Request<CreateMultipartUploadInput>,
    ) -> Reply<CreateMultipartUploadOutput> {
        self.do_create_multipart_upload(req).await
    }

    async fn upload_part(&self, req: S3Request<UploadPartInput>) -> Reply<UploadPartOutput> {
        self.do_upload_part(req).await
    }

    async fn complete_multipart_upload(
        &self,
        req: S3Request<CompleteMultipartUploadInput>,
    ) -> Reply<CompleteMultipartUploadOutput> {
        self.do_complete_multipart_upload(req).await
    }

    async fn abort_multipart_upload(
        &self,
        req: S3Request<AbortMultipartUploadInput>,
    ) -> Reply<AbortMultipartUploadOutput> {
        self.do_abort_multipart_upload(req).await
    }
}
