//! Command that runs code in an image.

use std::{ffi::OsString, io, path::Path};

use serde::{Deserialize, Serialize};

/// Command that runs code in an image, such as `apptainer exec {image} {command}`. It is split at
/// spaces, without a shell. `--bind {home}:/home/ma-user` shows a directory of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ImageCommand(String);

/// Placeholder of the name of the image, which may be a part of an argument.
const IMAGE: &str = "{image}";
/// Placeholder of the command, which must be a separate argument.
const COMMAND: &str = "{command}";
/// Placeholders of a worker's home directory, scratch directory and table of host names.
const PLACES: [&str; 3] = ["{home}", "{cache}", "{hosts}"];

impl TryFrom<String> for ImageCommand {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let program = words.next().unwrap_or_default();
        if program.is_empty() || program.contains('{') || !words.any(|word| word == COMMAND) {
            return Err(format!(
                "the command of an image must be a program followed by {COMMAND}, such as \
                 \"apptainer exec {IMAGE} {COMMAND}\""
            ));
        }
        Ok(Self(text))
    }
}

impl From<ImageCommand> for String {
    fn from(command: ImageCommand) -> Self {
        command.0
    }
}

impl ImageCommand {
    /// Wraps a program, to run it in `image`. Returns an error if `image` begins with a hyphen.
    pub(super) fn wrap(
        &self,
        image: &str,
        worker: &Path,
        program: OsString,
        arguments: Vec<OsString>,
    ) -> io::Result<(OsString, Vec<OsString>)> {
        if image.starts_with('-') {
            return Err(io::Error::other("image_url must not begin with a hyphen"));
        }
        let places = ["home/ma-user", "cache", "hosts"].map(|name| worker.join(name));
        let places = PLACES.into_iter().zip(&places);
        let mut inner = Some(std::iter::once(program).chain(arguments));
        let mut words = Vec::new();
        for word in self.0.split_whitespace() {
            if word == COMMAND {
                words.extend(inner.take().into_iter().flatten());
            } else {
                // The name of the image may contain any text, so it is inserted last.
                let word = places.clone().fold(word.to_owned(), |word, (name, path)| {
                    word.replace(name, &path.to_string_lossy())
                });
                words.push(word.replace(IMAGE, image).into());
            }
        }
        let arguments = words.split_off(1);
        Ok((words.swap_remove(0), arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Result<ImageCommand, String> {
        ImageCommand::try_from(text.to_owned())
    }

    #[test]
    fn the_command_of_the_job_stays_in_words_of_its_own() {
        let text = "apptainer exec -B {home}:/home/ma-user,{hosts}:/etc/hosts -B {cache}:/cache \
                    docker://{image} {command}";
        let inner = vec!["-c".into(), "echo $HOME; ls".into()];
        let worker = Path::new("/d/w");
        let command = command(text).unwrap();
        let (program, arguments) = command.wrap("org/a b:1", worker, "bash".into(), inner).unwrap();
        assert_eq!(program, "apptainer");
        let expected = [
            "exec",
            "-B",
            "/d/w/home/ma-user:/home/ma-user,/d/w/hosts:/etc/hosts",
            "-B",
            "/d/w/cache:/cache",
            "docker://org/a b:1",
            "bash",
            "-c",
            "echo $HOME; ls",
        ];
        assert_eq!(arguments, expected);
    }

    #[test]
    fn a_template_without_the_command_is_refused() {
        for text in ["", "apptainer exec {image}", "{command}", "{image} {command}"] {
            assert!(command(text).unwrap_err().contains("must be a program"), "{text}");
        }
        let command = command("run {image} {command}").unwrap();
        let error =
            command.wrap("--bind=/", Path::new("/d"), "bash".into(), Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "image_url must not begin with a hyphen");
    }
}
