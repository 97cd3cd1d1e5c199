//! `modelarts context`, and the file of the contexts.

use std::{fs, path::Path};

use serde_json::{Value, json};
use snapbox::cmd::OutputAssert;
use tempfile::TempDir;

use crate::support::isolated;

/// A file as a user writes it.
const FILE: &str = "\
# Contexts of the team. Ask before changes.

current = \"team\"   # used every day

# Production; jobs cost money.
[context.team]
region = \"eu-de\" # Germany
bucket = \"team-bucket\"

[context.lab]
endpoint = \"https://modelarts.example.com\"
project_id = \"0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b\"
";

/// A directory with a file of contexts.
struct Settings(TempDir);

impl Settings {
    fn new(text: &str) -> Self {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("config.toml"), text).unwrap();
        Self(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self) -> String {
        fs::read_to_string(self.path().join("config.toml")).unwrap()
    }

    fn run(&self, arguments: &str) -> OutputAssert {
        let command = isolated(self.path()).args(arguments.split_whitespace());
        command.assert()
    }

    /// Returns the message of a command that fails with exit code 2, without the directory.
    fn refusal(&self, arguments: &str) -> String {
        let output = self.run(arguments).code(2).stdout_eq("");
        let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        text.replace(&*self.path().to_string_lossy(), "[DIR]")
    }
}

#[test]
fn the_list_marks_the_selected_context() {
    let settings = Settings::new(FILE);
    settings.run("context").code(0).stderr_eq("").stdout_eq(
        "CURRENT  NAME  KIND   REGION  PROJECT                           BUCKET\n         \
         lab   cloud  -       0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b  -\n*        team  cloud  eu-de   \
         -                                 team-bucket\n",
    );
    let output = settings.run("context list --context lab -o json").code(0);
    let document: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(
        document,
        json!({
            "schema_version": 1,
            "contexts": [
                {
                    "name": "lab",
                    "current": true,
                    "endpoint": "https://modelarts.example.com",
                    "project_id": "0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b",
                },
                {"name": "team", "current": false, "region": "eu-de", "bucket": "team-bucket"},
            ],
        })
    );
    settings.run("context list -o id").code(0).stdout_eq("lab\nteam\n");
    settings.run("context ls -o id").code(0).stdout_eq("lab\nteam\n");
}

#[test]
fn a_list_without_contexts_states_how_to_create_one() {
    let settings = Settings::new("");
    let path = settings.path().join("config.toml");
    let expected = format!(
        "no contexts in {}; `modelarts context set NAME region=…` creates one\n",
        path.display()
    );
    settings.run("context").code(0).stdout_eq("").stderr_eq(expected);
    let output = settings.run("context -o json --context lab").code(0);
    let document: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(document, json!({"schema_version": 1, "contexts": []}));
}

#[test]
fn show_prints_the_named_or_the_selected_context() {
    let settings = Settings::new(FILE);
    settings.run("context show").code(0).stdout_eq(
        "name              team\ncurrent           yes\nregion            eu-de\nbucket            \
         team-bucket\n",
    );
    let output = settings.run("context show lab -o json --jq .endpoint");
    output.code(0).stdout_eq("https://modelarts.example.com\n");
    assert_eq!(
        settings.refusal("context show labor"),
        "error: no context is named \"labor\" in [DIR]/config.toml; it must be one of: lab, team\n"
    );
    assert_eq!(
        Settings::new("").refusal("context show"),
        "error: no context is selected, so settings are those of variables and files; the command \
         must name a context\n"
    );
}

#[test]
fn env_prints_the_variables_of_a_context_for_a_shell() {
    let settings = Settings::new(FILE);
    settings.run("context env").code(0).stderr_eq("").stdout_eq(
        "unset MODELARTS_ENDPOINT MODELARTS_CLOUD MODELARTS_OBS_ENDPOINT MODELARTS_OBS_PREFIX \
         MODELARTS_MAX_PAUSE_MS HUAWEICLOUD_SDK_IAM_ENDPOINT HUAWEICLOUD_SDK_PROJECT_ID\nexport \
         MODELARTS_OBS_BUCKET='team-bucket'\nexport MODELARTS_REGION='eu-de'\n",
    );
    let data = settings.path().join("it's here");
    fs::create_dir(&data).unwrap();
    fs::write(
        data.join("connection.json"),
        r#"{"HUAWEICLOUD_SDK_SK": "it's", "PATH": "/x", "OS_A=1; exit": ""}"#,
    )
    .unwrap();
    let set = format!("data_dir={}", data.display());
    isolated(settings.path()).args(["context", "set", "dev", &set]).assert().code(0);
    let output = settings.run("context env dev").code(0);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(text.lines().nth(1), Some("export HUAWEICLOUD_SDK_SK='it'\\''s'"));
    assert_eq!(text.lines().count(), 2);
    let output = settings.run("context env dev -o json").code(0);
    let document: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(document["variables"], json!({"HUAWEICLOUD_SDK_SK": "it's"}));
    fs::remove_file(data.join("connection.json")).unwrap();
    assert_eq!(
        settings.refusal("context env dev"),
        "error: the emulator of the context dev is not running; start it with `modelarts dev \
         --name dev --data-dir [DIR]/it's here`\n"
    );
}

#[test]
fn use_changes_only_the_current_context() {
    let settings = Settings::new(FILE);
    let output = settings.run("context use lab").code(0);
    output.stdout_eq("").stderr_eq("current context: lab\n");
    let expected = FILE.replace("current = \"team\"", "current = \"lab\"");
    assert_eq!(settings.file(), expected);
    settings.run("context use --none").code(0).stderr_eq(
        "no current context: settings are those of variables and files; see `modelarts doctor`\n",
    );
    let expected = FILE.replace("current = \"team\"", "current = \"\"");
    assert_eq!(settings.file(), expected);
    assert_eq!(
        settings.refusal("context use labor"),
        "error: no context is named \"labor\" in [DIR]/config.toml; it must be one of: lab, team\n"
    );
    assert_eq!(settings.file(), expected);
    let output = settings.run("context use").code(2);
    let message = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(message.contains("<CONTEXT>"), "{message}");
}

#[test]
fn set_keeps_comments_and_order() {
    let settings = Settings::new(FILE);
    let output =
        settings.run("context set team region=cn-north-4 bucket= flavor=modelarts.vm.cpu.8u");
    output.code(0).stdout_eq("").stderr_eq("changed context team\n");
    let expected = FILE
        .replace("\"eu-de\" # Germany\n", "\"cn-north-4\" # Germany\n")
        .replace("bucket = \"team-bucket\"\n", "flavor = \"modelarts.vm.cpu.8u\"\n");
    assert_eq!(settings.file(), expected);
    settings.run("context set new region=eu-de").code(0).stderr_eq(
        "created context new\n`modelarts context use new` selects it for all commands\n",
    );
    let expected = format!("{expected}\n[context.new]\nregion = \"eu-de\"\n");
    assert_eq!(settings.file(), expected);
}

#[test]
fn commands_at_the_same_time_lose_no_context() {
    let settings = Settings::new(FILE);
    let command = |number: u32| {
        let settings = &settings;
        move || {
            let arguments = format!("context set lab-{number} region=eu-de");
            settings.run(&arguments).code(0);
        }
    };
    std::thread::scope(|scope| {
        for number in 0..30 {
            scope.spawn(command(number));
        }
    });
    let output = settings.run("context list -o id").code(0);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 32, "{text}");
}

#[test]
fn set_creates_the_file_and_makes_paths_absolute() {
    let directory = TempDir::new().unwrap();
    let config = directory.path().join("settings/config.toml");
    let command = isolated(directory.path()).env("MODELARTS_CONFIG", &config).args([
        "context",
        "set",
        "lab",
        "credentials_file=keys/lab",
    ]);
    command.assert().code(0);
    let keys = directory.path().canonicalize().unwrap().join("keys/lab");
    assert_eq!(
        fs::read_to_string(&config).unwrap(),
        format!("[context.lab]\ncredentials_file = \"{}\"\n", keys.display())
    );
}

#[test]
fn set_refuses_secrets_and_unknown_settings() {
    let settings = Settings::new(FILE);
    let no_secrets = "a context holds no secrets: keys belong in the variables HUAWEICLOUD_SDK_AK \
                      and HUAWEICLOUD_SDK_SK, or in the file ~/.huaweicloud/credentials, or in \
                      another one that credentials_file names";
    for name in ["access_key", "sk", "SECRET_KEY", "security_token", "password"] {
        assert_eq!(
            settings.refusal(&format!("context set team {name}=S3CRET")),
            format!("error: {name:?} is no setting of a context; {no_secrets}\n")
        );
    }
    assert_eq!(
        settings.refusal("context set team regoin=eu-de"),
        "error: \"regoin\" is no setting of a context; did you mean region?\n"
    );
    assert_eq!(
        settings.refusal("context set team colour=red"),
        "error: \"colour\" is no setting of a context; it must be one of: region, project_id, \
         endpoint, obs_endpoint, bucket, prefix, credentials_file, os_cloud, flavor, pool, \
         data_dir\n"
    );
    assert_eq!(
        settings.refusal("context set team S3CRET"),
        "error: a setting without '=': it must have the form SETTING=VALUE, such as region=eu-de\n"
    );
    assert_eq!(
        settings.refusal("context set a/b region=eu-de"),
        "error: the name \"a/b\" of a context must have only letters, digits, '-', '_' and '.'\n"
    );
    assert_eq!(settings.file(), FILE);
}

#[test]
fn a_region_that_is_not_known_is_stored_with_a_warning() {
    let settings = Settings::new(FILE);
    let warning = |region: &str, hint: &str| {
        format!(
            "warning: the region {region:?} is not known; {hint} Commands need `endpoint` for \
             another region\n"
        )
    };
    let near = warning("eu-xx", "did you mean eu-de?");
    settings
        .run("context set team region=eu-xx")
        .code(0)
        .stdout_eq("")
        .stderr_eq(format!("changed context team\n{near}"));
    assert_eq!(settings.file(), FILE.replace("\"eu-de\"", "\"eu-xx\""));
    let output = settings.run("context set team region=moon").code(0);
    let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(
        text.contains("the region \"moon\" is not known; known are af-north-1, af-south-1, "),
        "{text}"
    );
    for arguments in [
        "region=EU-DE",
        "region=cn-north-4 bucket=b",
        "region=eu-xx endpoint=https://modelarts.example.com",
        "bucket=other",
    ] {
        let output = settings.run(&format!("context set team {arguments}")).code(0);
        output.stderr_eq("changed context team\n");
    }
    settings.run("context set team endpoint=").code(0);
    // A region of the file of regions, or of a variable, is known.
    let command = isolated(settings.path())
        .env("HUAWEICLOUD_SDK_REGION_MODELARTS_EU_XX", "https://modelarts.example.com")
        .args(["context", "set", "team", "region=eu-xx"]);
    command.assert().code(0).stderr_eq("changed context team\n");
}

#[test]
fn delete_keeps_the_comments_of_the_file() {
    let text = format!("# Mine.\n\n# A test.\n[context.old]\nregion = \"eu-de\"\n\n{FILE}")
        .replace("current = \"team\"   # used every day\n\n", "");
    let settings = Settings::new(&text);
    settings.run("context delete old").code(0).stdout_eq("").stderr_eq("deleted context old\n");
    let expected = text.replace("# A test.\n[context.old]\nregion = \"eu-de\"\n\n", "");
    assert_eq!(settings.file(), expected);
    let settings = Settings::new(FILE);
    settings
        .run("context rm team")
        .code(0)
        .stderr_eq("deleted context team\nit was the current one: no context is selected now\n");
    settings.run("context list -o id").code(0).stdout_eq("lab\n");
    assert_eq!(
        settings.refusal("context delete team"),
        "error: no context is named \"team\" in [DIR]/config.toml; it must be one of: lab\n"
    );
}

#[test]
fn the_path_is_that_of_the_variable_or_of_the_user() {
    let settings = Settings::new("");
    let path = settings.path().join("config.toml");
    settings.run("context path").code(0).stdout_eq(format!("{}\n", path.display()));
    let command = isolated(settings.path()).env("MODELARTS_CONFIG", "");
    let output = command.args(["context", "path"]).assert().code(0);
    let path = settings.path().join(".config/modelarts/config.toml");
    output.stdout_eq(format!("{}\n", path.display()));
}

#[test]
fn errors_of_the_file_name_the_line() {
    let refusal = |text: &str| Settings::new(text).refusal("ls");
    assert_eq!(
        refusal("[context.team]\nregion = \"eu-de\"\naccess_key = \"S3CRET\"\n"),
        "error: [DIR]/config.toml, line 3: unknown field \"access_key\"; a context holds no \
         secrets: keys belong in the variables HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, or in \
         the file ~/.huaweicloud/credentials, or in another one that credentials_file names\n"
    );
    assert_eq!(
        refusal("[context.team]\nregoin = \"eu-de\"\n"),
        "error: [DIR]/config.toml, line 2: unknown field \"regoin\"; did you mean region?\n"
    );
    assert_eq!(
        refusal("current = \"team\"\n\n[context.team\n"),
        "error: [DIR]/config.toml, line 3: unclosed table, expected `]`; edit the file, or delete \
         it\n"
    );
    assert_eq!(
        refusal("\n[context.team]\nregion = 7\n"),
        "error: [DIR]/config.toml, line 3: invalid type: integer `7`, expected a string; edit the \
         file, or delete it\n"
    );
    assert_eq!(
        refusal("current = \"team\"\n"),
        "error: no context is named \"team\" in [DIR]/config.toml; there are none; create it with \
         `modelarts context set team region=…`\n"
    );
}

#[test]
fn a_link_to_the_file_stays_a_link() {
    let settings = Settings::new("");
    let real = settings.path().join("dotfiles.toml");
    fs::write(&real, FILE).unwrap();
    let link = settings.path().join("config.toml");
    fs::remove_file(&link).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};

        symlink(&real, &link).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        settings.run("context use lab").code(0);
        assert!(link.is_symlink());
        let mode = fs::metadata(&real).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert!(fs::read_to_string(&real).unwrap().contains("current = \"lab\""));
    }
}
