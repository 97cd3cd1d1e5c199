//! Spans of calls and of their attempts, as OpenTelemetry exports them:
//! `cargo run --example tracing`.
//!
//! The example collects the spans in memory. A program passes another exporter, such as that of the
//! crate `opentelemetry-otlp`, to the same provider.

mod local;

use modelarts_emulator::{
    Emulator, Timing,
    faults::{Fault, FaultRule},
};
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tracing_subscriber::{
    Layer, filter::LevelFilter, layer::SubscriberExt, util::SubscriberInitExt,
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("modelarts"));
    let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false);
    tracing_subscriber::registry().with(layer.with_filter(LevelFilter::INFO)).init();

    let (emulator, client) = local::start(Emulator::builder().timing(Timing::instant())).await?;
    emulator.faults().add(FaultRule::once("ListTrainingJobs", Fault::status(503)))?;
    client.training_jobs().list().collect(10).await?;

    for span in exporter.get_finished_spans()? {
        println!("{} ({:?}, {:?})", span.name, span.span_kind, span.status);
        for attribute in &span.attributes {
            println!("  {} = {}", attribute.key, attribute.value);
        }
    }
    emulator.shutdown().await;
    Ok(())
}
