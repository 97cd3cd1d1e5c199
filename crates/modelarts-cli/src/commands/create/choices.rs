//! Values that only the service knows: the default engine, and the available flavors.

use modelarts_ext::{Client, Error};

use crate::{commands::create::draft::Draft, failure::Failure, output::hardware};

/// Name of the default engine, which runs scripts without `--engine`.
const DEFAULT_ENGINE: &str = "PyTorch";
/// Maximum number of engines or flavors that are read.
const MAX_ROWS: usize = 500;

/// Sets the default engine of a draft if the draft needs an engine. Returns an error if the flavor
/// is missing.
pub(crate) async fn complete(draft: &mut Draft, client: &Client) -> Result<(), Failure> {
    if draft.needs_flavor() {
        return Err(missing_flavor(client).await);
    }
    complete_engine(draft, client).await
}

pub(crate) async fn complete_engine(draft: &mut Draft, client: &Client) -> Result<(), Failure> {
    if draft.needs_engine() {
        let (name, version) = default_engine(client).await?;
        note!("  Engine       {name}:{version}, the newest; --engine selects another");
        draft.edit(|job| job.preset_image(name, version));
    }
    Ok(())
}

/// Returns the engines of the service as `NAME:VERSION`, with empty texts.
pub(crate) async fn engines(client: &Client) -> Result<Vec<(String, String)>, Error> {
    let engines = client.engines().collect(MAX_ROWS).await?;
    let names = engines.into_iter().filter_map(|engine| {
        Some((format!("{}:{}", engine.engine_name?, engine.engine_version?), String::new()))
    });
    Ok(names.collect())
}

/// Returns the flavors of the service: their ids, and texts about their hardware.
pub(crate) async fn flavors(client: &Client) -> Result<Vec<(String, String)>, Error> {
    let flavors = client.flavors(None).collect(MAX_ROWS).await?;
    let flavors = flavors.into_iter().filter_map(|flavor| {
        Some((flavor.flavor_id?, flavor.flavor_info.as_deref().map(hardware).unwrap_or_default()))
    });
    Ok(flavors.collect())
}

/// Returns the name and the version of the newest engine named [`DEFAULT_ENGINE`].
pub(crate) async fn default_engine(client: &Client) -> Result<(String, String), Failure> {
    let newest = client.newest_engine(DEFAULT_ENGINE).await;
    newest.map_err(|error| match error.is_not_found() && error.status().is_none() {
        true => {
            let advice = error.advice().unwrap_or_default();
            Failure::usage(format_args!("--engine is missing, and {error}; {advice}"))
        }
        false => error.into(),
    })
}

/// Returns the failure for a job without a flavor, which lists the flavors of the service.
pub(crate) async fn missing_flavor(client: &Client) -> Failure {
    let rule = "--flavor is missing, and neither the file nor the context has a flavor or a pool";
    match flavors(client).await {
        Ok(flavors) if !flavors.is_empty() => {
            let width = flavors.iter().map(|(id, _)| id.len()).max().unwrap_or_default();
            let lines = flavors.iter().map(|(id, hardware)| format!("\n  {id:width$}  {hardware}"));
            let lines: String = lines.map(|line| line.trim_end().to_owned()).collect();
            Failure::usage(format_args!("{rule}; it must be one of:{lines}"))
        }
        Ok(_) => Failure::usage(format_args!("{rule}; --pool names a dedicated pool")),
        Err(error) => Failure::usage(format_args!("{rule}; the flavors cannot be read: {error}")),
    }
}
