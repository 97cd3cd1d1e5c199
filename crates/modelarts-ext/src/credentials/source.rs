//! Result of searching one source of credentials, and the settings that a source needs.

use std::{any::TypeId, fmt, sync::Arc};

use crate::{
    config::{
        endpoints::{self, ProjectRef, Service},
        environment::Environment,
    },
    credentials::{Credentials, ProvideCredentials, metadata::Metadata},
    error::Error,
};

/// The settings that a source of credentials needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) region: Option<String>,
    pub(crate) project: ProjectRef,
    /// The address of IAM that is set in the program or in `HUAWEICLOUD_SDK_IAM_ENDPOINT`.
    pub(crate) iam: Option<String>,
    pub(crate) metadata: Option<Metadata>,
}

impl Hints {
    /// The address of IAM: that of these hints, else that of the source (`given`), else that of
    /// the region.
    pub(crate) fn iam(
        &self,
        environment: &Environment,
        given: Option<String>,
        region: Option<&str>,
    ) -> Result<Option<String>, Error> {
        match (self.iam.clone().or(given), region) {
            (Some(address), _) => Ok(Some(address)),
            (None, Some(region)) => endpoints::endpoint(Service::Iam, region, Some(environment)),
            (None, None) => Ok(None),
        }
    }
}

/// Credentials with the settings of their source.
#[derive(Clone, Debug)]
pub(crate) struct FoundCredentials {
    pub(crate) credentials: Arc<dyn ProvideCredentials>,
    /// `true` for plain [`Credentials`], which need no request.
    pub(crate) fixed: bool,
    pub(crate) project: ProjectRef,
    pub(crate) region: Option<String>,
    pub(crate) iam: Option<String>,
}

impl FoundCredentials {
    /// Checks the credentials; an error names `place`.
    pub(super) fn new(
        place: impl fmt::Display,
        credentials: impl ProvideCredentials,
    ) -> Result<Self, Error> {
        credentials.check().map_err(|error| {
            let colon = if place.to_string().ends_with(',') {
                ""
            } else {
                ":"
            };
            Error::config(format!("{place}{colon} {error}"))
        })?;
        Ok(Self::unchecked(credentials))
    }

    pub(crate) fn unchecked<P: ProvideCredentials>(credentials: P) -> Self {
        Self {
            credentials: Arc::new(credentials),
            fixed: TypeId::of::<P>() == TypeId::of::<Credentials>(),
            project: ProjectRef::default(),
            region: None,
            iam: None,
        }
    }
}

/// The result of searching one source.
pub(super) enum Lookup {
    Found(Box<FoundCredentials>),
    /// There are none, for this reason.
    NotFound(String),
}

impl Lookup {
    pub(super) fn not_found(why: impl Into<String>) -> Self {
        Self::NotFound(why.into())
    }
}

impl From<FoundCredentials> for Lookup {
    fn from(found: FoundCredentials) -> Self {
        Self::Found(Box::new(found))
    }
}
