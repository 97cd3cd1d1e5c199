//! Parameters, channels and flavors of a stored algorithm, with which the form is filled in.

use axum::{Json, extract::Path};
use modelarts_ext::{
    masking::mask,
    validation::{AlgorithmSpec, FlavorSpec},
};
use serde::Serialize;

use crate::{problem::Problem, site::UserRequest};

/// Path of the field of the flavor, to which rules of resources refer.
const FLAVOR: &str = "spec.resource";

#[derive(Serialize)]
pub(super) struct Template {
    /// Names and default values of the hyper-parameters.
    parameters: Vec<(String, String)>,
    /// Names of the inputs and of the outputs.
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// Flavors that meet the requirements of the algorithm.
    flavors: Vec<String>,
}

pub(super) async fn read(
    Path(id): Path<String>,
    request: UserRequest,
) -> Result<Json<Template>, Problem> {
    let UserRequest { state, .. } = request;
    let lists = state.cached.choices.known_lists(&state.client).await;
    let algorithm = lists.algorithm(&id);
    let algorithm = algorithm
        .ok_or_else(|| Problem::not_found(format!("the project has no algorithm {id}")))?;
    let job = state.client.training_jobs().create("job").algorithm(&id).nodes(1);
    let job = job.with_algorithm_spec(AlgorithmSpec::from(algorithm.clone()));
    let flavors = lists.flavors.iter().flatten().filter_map(|flavor| {
        let id = flavor.flavor_id.as_deref()?;
        let with_flavor = job.clone().flavor(id).with_flavor_spec(FlavorSpec::from(flavor));
        let report = with_flavor.check();
        let complies = !report.violations.iter().any(|found| found.field().starts_with(FLAVOR));
        complies.then(|| id.to_owned())
    });
    let mut config = algorithm.job_config.clone().unwrap_or_default();
    // A sensitive default stays in the service.
    config.parameters.retain(|one| {
        let mut value = serde_json::to_value(one).unwrap_or_default();
        mask(&mut value) == 0
    });
    Ok(Json(Template {
        flavors: flavors.collect(),
        inputs: config.inputs.into_iter().filter_map(|input| input.name).collect(),
        outputs: config.outputs.into_iter().filter_map(|output| output.name).collect(),
        parameters: config
            .parameters
            .into_iter()
            .filter_map(|one| Some((one.name?, one.value.unwrap_or_default())))
            .collect(),
    }))
}
