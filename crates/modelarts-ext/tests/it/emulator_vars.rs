//! Clients with the settings of an emulator.

use modelarts_emulator::{Cloud as EmulatedCloud, Emulator, User};
use modelarts_ext::{ClientBuilder, Error, config::Cloud};

#[tokio::test]
async fn a_client_takes_its_settings_from_the_variables_of_an_emulator() {
    for (emulated, cloud) in
        [(EmulatedCloud::Huawei, Cloud::Huawei), (EmulatedCloud::Otc, Cloud::Otc)]
    {
        let emulator = Emulator::builder().cloud(emulated).start().await.unwrap();
        let client = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
        let jobs = client.training_jobs().list().collect(1).await.unwrap();
        assert_eq!(jobs.len(), 0);
        assert_eq!(client.endpoint(), format!("{}/", emulator.url()));
        assert_eq!(client.project_id(), emulator.project_id());
        assert_eq!(client.cloud(), cloud);
        assert_eq!(emulator.requests()["ListTrainingJobs"].executed, 1);
    }
}

#[tokio::test]
async fn temporary_keys_are_sent_with_their_security_token() -> Result<(), Error> {
    let mut user = User::new("ann");
    user.security_token = Some("temporary".to_owned());
    let emulator = Emulator::builder().user(user).start().await.unwrap();
    let client = ClientBuilder::from_vars(emulator.vars()).connect().await?;
    client.training_jobs().list().collect(1).await?;
    Ok(())
}
