//! Operations that list buckets and objects.

use s3s::{S3Request, S3Response, S3Result, dto::*};

use crate::obs::{
    fields::{
        common_prefixes, contents, decode_token, delimiter, encode_token, encoded, is_url, rows,
    },
    pages::{self, Page, Selection},
    service::{ObsService, Reply},
};

struct Query {
    prefix: String,
    delimiter: Option<String>,
    after: String,
    max: i32,
}

/// The implementation of the trait `S3` calls these operations.
impl ObsService {
    async fn list(&self, bucket: String, query: Query) -> S3Result<Page> {
        self.run(move |store| {
            let selection = Selection {
                prefix: &query.prefix,
                delimiter: query.delimiter.as_deref(),
                after: &query.after,
                max: usize::try_from(query.max).unwrap_or_default(),
            };
            pages::page(store, &bucket, selection)
        })
        .await
    }

    pub(super) async fn do_list_buckets(
        &self,
        req: S3Request<ListBucketsInput>,
    ) -> Reply<ListBucketsOutput> {
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

    pub(super) async fn do_list_objects(
        &self,
        req: S3Request<ListObjectsInput>,
    ) -> Reply<ListObjectsOutput> {
        let input = req.input;
        let url = is_url(input.encoding_type.as_ref())?;
        let max_keys = rows(input.max_keys, "max-keys")?;
        let query = Query {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_deref()),
            after: input.marker.clone().unwrap_or_default(),
            max: max_keys,
        };
        let page = self.list(input.bucket.clone(), query).await?;
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

    pub(super) async fn do_list_objects_v2(
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
        let query = Query {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_deref()),
            after,
            max: max_keys,
        };
        let page = self.list(input.bucket.clone(), query).await?;
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
}
