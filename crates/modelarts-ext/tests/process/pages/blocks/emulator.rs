use modelarts_emulator::{
    Emulator, Timing,
    faults::{Fault, FaultRule},
};
use modelarts_ext::ClientBuilder;

const SCRIPT: &str = "import sys\n\
    open(sys.argv[1].split('=')[1] + '/model.bin', 'w').write('weights')\n";

#[tokio::test]
async fn a_lost_response_creates_no_second_job() -> Result<(), Box<dyn std::error::Error>> {
    let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    emulator.put("bucket/code/train.py", SCRIPT)?;
    emulator.faults().add(FaultRule::once("CreateTrainingJob", Fault::LostAnswer))?;
    emulator.faults().add(FaultRule::times(2, "ShowTrainingJobDetails", Fault::status(429)))?;

    let job = client.training_jobs().create("once")
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://bucket/code/").boot_file("obs://bucket/code/train.py")
        .output("train_url", "obs://bucket/out/")
        .flavor("modelarts.vm.cpu.2u")
        .submit().await?;
    assert!(job.wait().await?.is_completed());
    assert_eq!(emulator.requests()["CreateTrainingJob"].executed, 1);
    assert_eq!(emulator.get("bucket/out/model.bin")?, b"weights");
    emulator.shutdown().await;
    Ok(())
}
