//! Rules on the command of a custom image. The service appends hyper-parameters and channels to the
//! text of the command, as ` --name=value` (`openapi/SOURCES.md`, C6, D-133).

use modelarts_api::request_path::{
    create_training_job::algorithm, input, job_algorithm, parameter,
};

use crate::validation::{
    draft::Draft,
    json_path::{Fields, Located},
    obs_path::{ObsPath, is_variable_name},
    rules::shell::simple_commands,
};

const PREFIXES: [&str; 13] = [
    "command", "do", "else", "env", "exec", "if", "nice", "nohup", "sudo", "then", "time",
    "timeout", "{",
];
/// Programs that prepare another program, and do not need the arguments of the job.
const PREPARATIONS: &str = "\
    . [ alias cat cd chmod chown conda cp date df echo export false fi free ln ls mkdir mv \
    npu-smi nvidia-smi printf pushd pwd rm set sleep source tar test touch true ulimit unset \
    unzip";
const DEFAULT_CODE_DIR: &str = "/home/ma-user/modelarts/user-job-dir";

fn argument_names(job: Draft<'_>) -> Fields<'_> {
    let lists = [algorithm::INPUTS, algorithm::OUTPUTS, algorithm::PARAMETERS];
    let items = lists.into_iter().flat_map(|list| job.at(list).items());
    let items = items.filter(|item| !item.at(input::ACCESS_METHOD).is("env"));
    items.collect::<Fields<'_>>().at(parameter::NAME).given()
}

fn with_arguments(job: Draft<'_>, wrong: impl Fn(&[Vec<String>]) -> bool) -> Fields<'_> {
    let has_arguments = argument_names(job).iter().next().is_some();
    let command = job.at(algorithm::COMMAND).when(has_arguments);
    command.texts(|text| wrong(&simple_commands(text)))
}

fn from_program(words: &[String]) -> &[String] {
    let is_prefix = |word: &&String| {
        let variable = word.split_once('=').map(|(name, _)| name);
        PREFIXES.contains(&word.as_str())
            || variable.is_some_and(is_variable_name)
            || word.starts_with(|first: char| first == '-' || first.is_ascii_digit())
    };
    let start = words.iter().take_while(is_prefix).count();
    &words[start..]
}

fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    match name.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit()) {
        "" => name,
        base => base,
    }
}

fn after_pip(program: &[String]) -> Option<&[String]> {
    match program {
        [pip, rest @ ..] if base_name(pip) == "pip" => Some(rest),
        [uv, pip, rest @ ..] if uv == "uv" && pip == "pip" => Some(rest),
        [_python, flag, pip, rest @ ..] if flag == "-m" && pip == "pip" => Some(rest),
        _ => None,
    }
}

fn inner_script(program: &[String]) -> Option<&str> {
    let (shell, mut options) = program.split_first()?;
    if !["sh", "bash", "dash", "zsh"].contains(&base_name(shell)) {
        return None;
    }
    while let [option, rest @ ..] = options {
        let flags = option.strip_prefix('-')?;
        options = match flags {
            _ if flags.starts_with('-') => rest,
            _ if flags.contains('c') => return rest.first().map(String::as_str),
            // The option `-o` has a value, such as `pipefail`.
            _ if flags.ends_with('o') => rest.get(1..)?,
            _ => rest,
        };
    }
    None
}

pub(super) fn wrapped(job: Draft<'_>) -> Fields<'_> {
    with_arguments(job, |commands| {
        let last = commands.last().map(|words| from_program(words));
        let script = last.and_then(inner_script);
        script.is_some_and(|script| !["$@", "$*", "$0", "$1"].iter().any(|x| script.contains(x)))
    })
}

pub(super) fn followed(job: Draft<'_>) -> Fields<'_> {
    let is_preparation = |words: &Vec<String>| {
        let program = from_program(words);
        let name = program.first().map(|name| base_name(name));
        name.is_none_or(|name| PREPARATIONS.split(' ').any(|known| known == name))
            || after_pip(program).is_some()
    };
    with_arguments(job, |commands| {
        let Some((last, earlier)) = commands.split_last() else {
            return false;
        };
        let is_lost = last.is_empty() && !earlier.is_empty();
        is_lost || !earlier.iter().all(is_preparation)
    })
}

pub(super) fn given_twice(job: Draft<'_>) -> Fields<'_> {
    let command = job.at(algorithm::COMMAND).text().unwrap_or_default();
    let words: Vec<String> = simple_commands(command).into_iter().flatten().collect();
    let options = words.iter().filter_map(|word| word.strip_prefix("--"));
    let names: Vec<_> = options.flat_map(|option| option.split('=').next()).collect();
    argument_names(job).texts(|name| names.contains(&name))
}

/// Returns values with characters that a shell interprets, except globs, which match no file.
pub(super) fn special_values(job: Draft<'_>) -> Fields<'_> {
    let is_special = |c: char| c.is_whitespace() || "'\"\\$`&|;<>(){".contains(c);
    let parameters = job.at(algorithm::PARAMETERS).when(job.has(algorithm::COMMAND));
    let values = parameters.items().at(parameter::VALUE);
    values.texts(|value| value.contains(is_special))
}

/// Returns fields with a path into another folder, or with the code folder in another case.
pub(super) fn code_folder(job: Draft<'_>) -> Fields<'_> {
    let code = job.at(algorithm::CODE_DIR);
    let code = code.text().and_then(ObsPath::parse);
    let Some(folder) = code.and_then(|path| path.last_below_bucket()) else {
        return Fields::default();
    };
    let local = job.at(algorithm::LOCAL_CODE_DIR);
    let local = local.text().unwrap_or(DEFAULT_CODE_DIR);
    let local = local.trim_end_matches('/');
    let channels = job.channels().at(input::LOCAL_DIR);
    let is_channel = |name: &str| {
        let path = format!("{local}/{name}");
        let mut directories = channels.iter().flat_map(Located::text);
        directories.any(|directory| directory.starts_with(&path))
    };
    let is_wrong = |text: &str| {
        let folders = folders_below(text, &[local, "$MA_JOB_DIR", "${MA_JOB_DIR}"]);
        let is_named = folders.iter().any(|(name, _)| *name == folder);
        folders.iter().any(|(name, is_entered)| {
            let is_other = *is_entered && !is_named && !is_channel(name);
            *name != folder && (is_other || name.eq_ignore_ascii_case(folder))
        })
    };
    let values = job.at(algorithm::PARAMETERS).items().at(parameter::VALUE);
    let variables = job.at(algorithm::ENVIRONMENTS).entries();
    let fields = [algorithm::COMMAND, algorithm::WORKING_DIR].map(|path| job.at(path));
    let fields = fields.into_iter().chain(values).chain(variables);
    fields.collect::<Fields<'_>>().texts(is_wrong)
}

/// Returns folder names below a directory, with `true` if a path continues or `cd` precedes it.
fn folders_below<'a>(text: &'a str, directories: &[&str]) -> Vec<(&'a str, bool)> {
    let places = directories.iter().flat_map(|directory| {
        let starts = text.match_indices(directory);
        starts.map(|(start, directory)| text.split_at(start + directory.len()))
    });
    let folders = places.filter_map(|(before, after)| {
        let rest = after.strip_prefix('/')?;
        let is_part = |c: char| c.is_alphanumeric() || "._-+@".contains(c);
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (name, next) = rest.split_at(end);
        let is_known = !name.is_empty() && !next.starts_with(['$', '*', '?', '{', '[', '\\']);
        let is_changed_to = before.rsplit(char::is_whitespace).nth(1) == Some("cd");
        is_known.then(|| (name, next.starts_with('/') || is_changed_to))
    });
    folders.collect()
}

pub(super) fn variables_of_service(job: Draft<'_>) -> Fields<'_> {
    let variables = job.programs().at(job_algorithm::ENVIRONMENTS).into_iter();
    let code_dirs = variables.map(|map| map.entry("MA_CODE_DIR"));
    code_dirs.collect::<Fields<'_>>().present()
}

/// Returns a command that downloads files, unless a pool or a proxy may provide internet access.
pub(super) fn downloads(job: Draft<'_>) -> Fields<'_> {
    let variables = job.at(algorithm::ENVIRONMENTS);
    let names_access = variables.keys().any(|name| {
        let name = name.to_ascii_lowercase();
        name.ends_with("_proxy") || name.starts_with("pip_") || name == "hf_endpoint"
    });
    let has_access = names_access || job.has_pool();
    let command = job.at(algorithm::COMMAND).when(!has_access);
    command.texts(has_download)
}

fn has_download(script: &str) -> bool {
    simple_commands(script).iter().any(|words| {
        let program = from_program(words);
        inner_script(program).is_some_and(has_download) || is_download(program)
    })
}

fn is_download(program: &[String]) -> bool {
    if let Some([verb, packages @ ..]) = after_pip(program) {
        let is_indexed = packages.iter().any(|word| names_index(word));
        return verb == "install" && !is_indexed && packages.iter().any(|word| is_looked_up(word));
    }
    let arguments = program.get(1..).unwrap_or_default();
    let verb = arguments.iter().find(|word| !word.starts_with('-'));
    let verb = verb.map_or("", String::as_str);
    let has_url = arguments.iter().any(|word| is_public_url(word));
    match program.first().map_or("", |name| base_name(name)) {
        "conda" | "mamba" | "apt" | "apt-get" | "yum" | "dnf" => {
            let is_local = |word: &String| word.contains(['/', '$']) || word == "--offline";
            verb == "install" && !arguments.iter().any(is_local)
        }
        "huggingface-cli" | "hf" | "modelscope" => verb == "download",
        "git" => verb == "clone" && has_url,
        "wget" | "curl" => has_url,
        _ => false,
    }
}

fn names_index(word: &str) -> bool {
    let options = ["--no-index", "--index-url", "--find-links", "--proxy", "-i", "-f"];
    options.iter().any(|option| word.starts_with(option))
}

/// Returns `true` for an argument for which pip needs network access, unlike for a local file.
fn is_looked_up(word: &str) -> bool {
    let is_local = word.starts_with(['-', '.', '$']) || word.contains('/');
    let is_archive = word.ends_with(".whl") || word.ends_with(".gz") || word.ends_with(".zip");
    let is_list = ["-r", "--requirement"].contains(&word);
    is_list || !(is_local || is_archive) || is_public_url(word.trim_start_matches("git+"))
}

fn is_public_url(word: &str) -> bool {
    const OF_CLOUD: [&str; 4] = ["myhuaweicloud.com", "t-systems.com", "private.com", "local"];
    let rest = word.split_once("://").filter(|(scheme, _)| scheme.starts_with("http"));
    let host = rest.and_then(|(_, rest)| rest.split(['/', ':', '?']).next());
    host.is_some_and(|host| {
        let is_name = host.contains('.') && host.ends_with(|c: char| c.is_ascii_alphabetic());
        is_name && !host.contains('$') && !OF_CLOUD.iter().any(|end| host.ends_with(end))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::cloud::Cloud;

    const CODE: &str = "/home/ma-user/modelarts/user-job-dir";

    fn is_broken(rule: fn(Draft<'_>) -> Fields<'_>, algorithm: Value) -> bool {
        let body = json!({ "algorithm": algorithm });
        let broken = rule(Draft::new(&body, Cloud::Huawei));
        broken.iter().next().is_some()
    }

    fn loses(rule: fn(Draft<'_>) -> Fields<'_>, command: &str) -> bool {
        let parameters = json!([{"name": "lr", "value": "0.1"}]);
        let without = json!({ "command": command });
        assert!(!is_broken(rule, without), "{command}");
        is_broken(rule, json!({"command": command, "parameters": parameters}))
    }

    #[test]
    fn shells_around_a_script_are_found() {
        for (command, expected) in [
            ("bash -c 'python a.py'", true),
            ("cd /a && exec /bin/bash -lc \"python a.py\"", true),
            ("env A=1 time sh -o pipefail -c 'python a.py | tee log'", true),
            ("timeout 60 bash --norc -euc 'python a.py'", true),
            ("bash -c 'python a.py \"$@\"' bash", false),
            ("bash run.sh -c x", false),
            ("bash -x run.sh", false),
            ("python -c 'print(1)'", false),
        ] {
            assert_eq!(loses(wrapped, command), expected, "{command}");
        }
    }

    #[test]
    fn programs_before_the_last_operator_are_found() {
        for (command, expected) in [
            ("python a.py && echo done", true),
            ("python a.py || exit 1", true),
            ("python a.py | tee a.log", true),
            ("python a.py & wait", true),
            ("python a.py &", true),
            ("python a.py\n", true),
            ("python a.py # train", true),
            ("cat <<END | python a.py\nx\nEND", true),
            ("(cd /a; python a.py)", true),
            ("cd /a && { python a.py; }", true),
            ("python a.py 2>&1 >a.log", false),
            ("cd /a && python a.py", false),
            (". /a/env.sh; export A=1; B=2; pip3.10 install -e .; exec bash a.sh", false),
            ("if [ -d /a ]; then cd /a; fi; python -m pip install b; python a.py", false),
            ("python a.py 'b; c' \"d | e\" $(f; g)", false),
        ] {
            assert_eq!(loses(followed, command), expected, "{command}");
        }
    }

    #[test]
    fn arguments_of_the_environment_and_boot_files_are_not_appended() {
        let inputs = |access: Value| {
            let inputs = json!([{"name": "data_url", "access_method": access}]);
            json!({"command": "python a.py --data_url /a; b", "inputs": inputs})
        };
        for rule in [followed, given_twice] {
            assert!(is_broken(rule, inputs(Value::Null)));
            assert!(is_broken(rule, inputs("parameter".into())));
            assert!(!is_broken(rule, inputs("env".into())));
        }
        let parameters = json!([{"name": "a", "value": "b c"}]);
        assert!(!is_broken(special_values, json!({"boot_file": "a.py", "parameters": parameters})));
    }

    #[test]
    fn other_folders_of_the_code_are_found() {
        for (command, expected) in [
            (format!("python {CODE}/fit/a.py"), false),
            (format!("python {CODE}/Fit/a.py"), true),
            (format!("python {CODE}/code/a.py"), true),
            (format!("cd {CODE}/code && python a.py"), true),
            ("cd \"$MA_JOB_DIR/FIT\" && python a.py".to_owned(), true),
            ("python ${MA_JOB_DIR}/fit/a.py --out $MA_JOB_DIR/out/a".to_owned(), false),
            ("python a.py --log=$MA_JOB_DIR/a.log".to_owned(), false),
            ("python $MA_JOB_DIR/$NAME/a.py".to_owned(), false),
            (format!("python {CODE}/in/a.py"), false),
        ] {
            let inputs = json!([{"name": "in", "local_dir": format!("{CODE}/in")}]);
            let job = json!({"code_dir": "/b/fit/", "command": command, "inputs": inputs});
            assert_eq!(is_broken(code_folder, job), expected, "{command}");
        }
        let elsewhere = json!({
            "code_dir": "/b/fit/", "local_code_dir": "/home/me/",
            "environments": {"PYTHONPATH": "/home/me/src:/home/me/Fit"},
        });
        assert!(is_broken(code_folder, elsewhere));
    }

    #[test]
    fn installations_and_downloads_are_found() {
        for (command, expected) in [
            ("pip install torch", true),
            ("cd /a && python3.10 -m pip install -r requirements.txt && bash a.sh", true),
            ("bash -c 'pip3 install -U git+https://example.org/a.git'", true),
            ("conda install -y numpy", true),
            ("apt-get install -y git", true),
            ("wget -q https://example.org/a.bin", true),
            ("curl -LO http://example.org/a.bin", true),
            ("git clone --depth 1 https://example.org/a.git", true),
            ("hf download org/model", true),
            ("modelscope download --model org/model", true),
            ("pip list", false),
            ("pip install --no-index -f /a torch", false),
            ("pip install -i http://10.0.0.5/simple torch", false),
            ("pip install --find-links=/a torch > pip.log 2>&1", false),
            ("pip install -e . ./a torch-2.0-cp310.whl $WHEELS", false),
            ("apt install /a/b.deb", false),
            ("wget http://10.0.0.5:8080/a", false),
            ("curl https://a.obs.cn-north-4.myhuaweicloud.com/b $URL http://$HOST.org/", false),
            ("git clone /a/b.git", false),
            ("python pipeline.py install torch", false),
            ("echo pip install torch", false),
        ] {
            assert_eq!(is_broken(downloads, json!({"command": command})), expected, "{command}");
        }
        let proxy = json!({"HTTPS_PROXY": "http://10.0.0.5:3128"});
        assert!(!is_broken(downloads, json!({"command": "hf download a", "environments": proxy})));
    }
}
