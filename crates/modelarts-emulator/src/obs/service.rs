//! Service of OBS, through which the operations access the store.

use std::{fs::File, sync::Arc};

use s3s::{
    S3Error, S3ErrorCode, S3Response, S3Result,
    auth::Credentials,
    dto::{CopySource, Owner, StreamingBlob},
    s3_error,
};

use crate::{
    files::obs_path::CHARTS,
    obs::{
        conditions::Conditions,
        pages::{self, Page, Selection},
        records::StoredObject,
        store::ObjectStore,
        transfer::{Declared, Received, blocking, receive},
    },
    state::EmulatorState,
};

/// Maximum number of objects in one deletion request
/// (https://support.huaweicloud.com/intl/en-us/obs_faq/obs_faq_0020.html).
pub(super) const MAX_DELETED: usize = 1000;

pub(super) fn too_many_objects() -> S3Error {
    s3_error!(
        MalformedXML,
        "Delete must name at most {MAX_DELETED} objects: send several requests."
    )
}

/// Replaces the error for a missing chart of a search, because the emulator draws no charts.
pub(super) fn chart_error(key: &str, error: S3Error) -> S3Error {
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
            // The bucket is checked before the body is read.
            store.bucket(&bucket)?;
            store.temporary()
        });
        receive(body, declared, file.await?).await
    }

    pub(super) async fn list(&self, bucket: String, selection: Selection) -> S3Result<Page> {
        self.run(move |store| pages::page(store, &bucket, &selection)).await
    }
}
