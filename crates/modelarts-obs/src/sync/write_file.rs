//! Uploads of large files to a local directory. They cannot be resumed.

use std::sync::Arc;

use modelarts_ext::Error;
use object_store::{ObjectStore, PutMultipartOptions, path::Path};

use crate::{
    error,
    sync::{
        digest::Hasher,
        parts::PART,
        source::SourceItem,
        upload::{Sent, Uploads},
    },
};

impl Uploads {
    /// Writes a file in pieces of the size of a part.
    pub(super) async fn write_file(
        &self,
        name: &str,
        source: &SourceItem,
        path: &Path,
        sha256: Option<String>,
    ) -> Result<Sent, Error> {
        let convert = |error: object_store::Error| error::convert(&error, &self.doing(path));
        let begin = |objects: Arc<dyn ObjectStore>| async move {
            let options = PutMultipartOptions::default();
            objects.put_multipart_opts(path, options).await
        };
        let mut upload = self.store().call(|| self.doing(path), begin).await?;
        let size = source.size();
        let mut hasher = Hasher::new(false);
        let mut start = 0;
        let written = async {
            while start < size {
                let end = (start + PART).min(size);
                let _contents = self.limits.bytes(end - start).await;
                let bytes = source.read(start..end, &self.limits).await?;
                hasher.update(&bytes);
                upload.put_part(bytes.into()).await.map_err(convert)?;
                self.reporter.advanced(name, end - start);
                start = end;
            }
            upload.complete().await.map_err(convert)
        };
        let written = written.await;
        if written.is_err() {
            let _ = upload.abort().await;
        }
        let etag = written?.e_tag;
        self.reporter.transferred(name, size, size);
        Ok(Sent::Object { sha256: sha256.or_else(|| Some(hasher.finish().sha256)), etag })
    }
}
