//! Settings of a client as variables.

use modelarts_emulator::{Cloud, Emulator, User};

#[tokio::test]
async fn variables_are_those_of_the_first_user() {
    let mut user = User::new("ann");
    user.security_token = Some("temporary".to_owned());
    let emulator = Emulator::builder().cloud(Cloud::Otc).user(user);
    let emulator = emulator.start().await.unwrap();
    let expected = [
        ("MODELARTS_ENDPOINT", emulator.url()),
        ("MODELARTS_CLOUD", "otc"),
        ("HUAWEICLOUD_SDK_IAM_ENDPOINT", emulator.url()),
        ("HUAWEICLOUD_SDK_PROJECT_ID", emulator.project_id()),
        ("HUAWEICLOUD_SDK_AK", emulator.access_key()),
        ("HUAWEICLOUD_SDK_SK", emulator.secret_key()),
        ("HUAWEICLOUD_SDK_SECURITY_TOKEN", "temporary"),
        #[cfg(feature = "obs")]
        ("MODELARTS_OBS_ENDPOINT", emulator.obs_url()),
    ];
    let vars = emulator.vars();
    let envs = emulator.envs();
    let envs: Vec<_> = envs.iter().map(|(name, it)| (*name, it.as_str())).collect();
    assert_eq!(envs, expected);
    for (name, value) in expected {
        assert_eq!(vars(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(vars("HOME"), None);

    let emulator = Emulator::start().await.unwrap();
    let vars = emulator.vars();
    assert_eq!(vars("MODELARTS_CLOUD").as_deref(), Some("huawei"));
    assert_eq!(vars("HUAWEICLOUD_SDK_SECURITY_TOKEN").as_deref(), Some(""));
}
