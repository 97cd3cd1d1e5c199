//! Command `modelarts engines`, which prints the engines of preset images.

use clap::{Args, ValueEnum};
use futures::TryStreamExt;
use modelarts_ext::types::TrainingEngine;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    output::{Column, Row, non_empty, or_dash},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Engines {
    /// Only engines whose name, version or id contains this text.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only engines with an image for this kind of node.
    #[arg(long, value_enum, ignore_case = true, value_name = "KIND")]
    kind: Option<Kind>,
}

/// Kind of node that an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Nodes without accelerator cards.
    Cpu,
    /// Nodes with accelerator cards.
    Gpu,
}

/// An engine: a preset image.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EngineRow {
    /// Id of the engine.
    id: String,
    /// Name of the framework, such as `PyTorch`.
    name: Option<String>,
    /// Version of the engine.
    version: Option<String>,
    /// Kinds of nodes that the engine has an image for.
    kinds: Vec<Kind>,
    /// Image for nodes without accelerator cards.
    cpu_image: Option<String>,
    /// Image for nodes with accelerator cards.
    gpu_image: Option<String>,
    /// Features of the engine, such as `auto_search`.
    tags: Vec<String>,
    /// User id that the container runs as.
    run_user: Option<String>,
    /// `true` if the engine ignores the local directories of a job.
    v1_compatible: Option<bool>,
}

impl EngineRow {
    fn new(engine: &TrainingEngine) -> Option<Self> {
        let images = engine.image_info.as_ref();
        let cpu_image = images.and_then(|images| non_empty(&images.cpu_image_url));
        let gpu_image = images.and_then(|images| non_empty(&images.gpu_image_url));
        let kinds = [cpu_image.as_ref().map(|_| Kind::Cpu), gpu_image.as_ref().map(|_| Kind::Gpu)];
        let tags = engine.tags.iter().filter_map(|tag| tag.key.clone());
        Some(Self {
            id: non_empty(&engine.engine_id)?,
            name: non_empty(&engine.engine_name),
            version: non_empty(&engine.engine_version),
            kinds: kinds.into_iter().flatten().collect(),
            cpu_image,
            gpu_image,
            tags: tags.collect(),
            run_user: non_empty(&engine.run_user),
            v1_compatible: engine.v1_compatible,
        })
    }

    fn kinds(&self) -> String {
        let name = |kind: &Kind| match kind {
            Kind::Cpu => "cpu",
            Kind::Gpu => "gpu",
        };
        let names: Vec<&str> = self.kinds.iter().map(name).collect();
        or_dash(Some(names.join(",")))
    }
}

impl Row for EngineRow {
    const LIST: &'static str = "engines";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("NAME", |row| or_dash(row.name.clone())),
        Column::new("KINDS", Self::kinds),
        Column::new("VERSION", |row| or_dash(row.version.clone())),
        Column::key("ID", |row| row.id.clone()),
        Column::wide("USER", |row| or_dash(row.run_user.clone())),
        Column::wide("TAGS", |row| or_dash(Some(row.tags.join(",")))),
        Column::wide("CPU-IMAGE", |row| or_dash(row.cpu_image.clone())),
        Column::wide("GPU-IMAGE", |row| or_dash(row.gpu_image.clone())),
    ];

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl Engines {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let pages = client.engines().pages().map_ok(|page| {
            let rows = page.items.iter().filter_map(EngineRow::new);
            rows.filter(|row| self.fits(row)).collect()
        });
        session.output.list_or_note::<EngineRow>(pages, "no engines").await?;
        Ok(ExitStatus::Success)
    }

    fn fits(&self, row: &EngineRow) -> bool {
        let texts = [Some(&row.id), row.name.as_ref(), row.version.as_ref()];
        let is_named = self.name.as_ref().is_none_or(|name| {
            let mut texts = texts.into_iter().flatten();
            texts.any(|text| text.to_lowercase().contains(&name.to_lowercase()))
        });
        is_named && self.kind.is_none_or(|kind| row.kinds.contains(&kind))
    }
}
