//! Result of the search in a source of credentials, and the settings that a source needs.

use std::{any::TypeId, sync::Arc};

use crate::{
    config::{
        endpoints::{self, ProjectRef, Service},
        environment::Environment,
    },
    credentials::{Credentials, ProvideCredentials, metadata::Metadata},
    error::Error,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) region: Option<String>,
    pub(crate) project: ProjectRef,
    /// Endpoint of IAM that is set in the builder or in `HUAWEICLOUD_SDK_IAM_ENDPOINT`.
    pub(crate) iam: Option<String>,
    pub(crate) metadata: Option<Metadata>,
}

impl Hints {
    /// Returns the endpoint of IAM from the hints, from `given`, or of the region, in this order.
    pub(crate) fn iam(
        &self,
        environment: &Environment,
        given: Option<String>,
        region: Option<&str>,
    ) -> Result<Option<String>, Error> {
        match (self.iam.clone().or(given), region) {
            (None, Some(region)) => endpoints::endpoint(Service::Iam, region, environment),
            (address, _) => Ok(address),
        }
    }
}

pub(crate) enum Lookup {
    Found(FoundCredentials),
    NotFound(String),
}

#[derive(Clone, Debug)]
pub(crate) struct FoundCredentials {
    pub(crate) credentials: Arc<dyn ProvideCredentials>,
    /// `true` for [`Credentials`], which never send a request.
    pub(crate) fixed: bool,
    pub(crate) project: ProjectRef,
    pub(crate) region: Option<String>,
    pub(crate) iam: Option<String>,
    pub(crate) origin: Option<Arc<str>>,
}

impl FoundCredentials {
    /// Checks and wraps credentials from `place`, with which the message of an error begins.
    pub(super) fn new(place: &str, credentials: impl ProvideCredentials) -> Result<Self, Error> {
        let failed = |error| Error::config(format!("{place} {error}"));
        credentials.check().map_err(failed)?;
        Ok(Self {
            origin: Some(place.trim_end_matches([':', ',']).into()),
            ..Self::unchecked(credentials)
        })
    }

    pub(crate) fn unchecked<P: ProvideCredentials>(credentials: P) -> Self {
        Self {
            credentials: Arc::new(credentials),
            fixed: TypeId::of::<P>() == TypeId::of::<Credentials>(),
            project: ProjectRef::default(),
            region: None,
            iam: None,
            origin: None,
        }
    }
}

/// Returns the values of two settings that require each other, or `None` if neither is set. If only
/// one is set, returns the error of `missing` for the name of that one and the name of the other.
pub(super) fn pair(
    (one, first): (&str, Option<String>),
    (other, second): (&str, Option<String>),
    missing: impl FnOnce(&str, &str) -> Error,
) -> Result<Option<(String, String)>, Error> {
    match (first, second) {
        (Some(first), Some(second)) => Ok(Some((first, second))),
        (Some(_), None) => Err(missing(one, other)),
        (None, Some(_)) => Err(missing(other, one)),
        (None, None) => Ok(None),
    }
}
