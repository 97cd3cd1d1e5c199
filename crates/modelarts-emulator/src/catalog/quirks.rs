//! Switches, each with a default, for behaviour on which sources are silent or disagree:
//! `openapi/SOURCES.md`, "Behaviour".

use serde::{Deserialize, Serialize};

macro_rules! quirks {
    ($(
        $(#[$about:meta])*
        $field:ident: $setting:ident {
            $(#[$first_about:meta])* $first:ident,
            $(#[$second_about:meta])* $second:ident,
        }
    )*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "kebab-case")]
            pub enum $setting {
                $(#[$first_about])*
                #[default]
                $first,
                $(#[$second_about])*
                $second,
            }
        )*

        /// The switches. Names and values of flags and files are those of the members and
        /// variants in small letters, with hyphens: `events-offset=page`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        #[non_exhaustive]
        pub struct Quirks {
            $(
                $(#[$about])*
                pub $field: $setting,
            )*
        }
    };
}

quirks! {
    /// The phase of a job that was stopped after its maximum running duration
    /// (`openapi/SOURCES.md`, D-154).
    auto_stopped: AutoStopPhase {
        /// As after a stop by hand.
        Terminated,
        /// As after a failure.
        Failed,
    }
    /// The fate of a preemptible job whose nodes another one takes (`openapi/SOURCES.md`, D-155).
    preempted: PreemptionPhase {
        /// It waits again.
        Pending,
        /// It has failed.
        Failed,
    }
    /// The effect of DeleteTrainingJob on a job that has not ended (`openapi/SOURCES.md`, D-156).
    delete_active: DeleteActive {
        /// It ends it first.
        Ends,
        /// It refuses, with 400.
        Refuses,
    }
    /// The answer of StopTrainingJob while the job is Terminating (`openapi/SOURCES.md`, D-153).
    stop_again: RepeatedStop {
        /// 409, as for a job that has ended.
        Refuses,
        /// 202, and nothing changes.
        Accepts,
    }
    /// The code for an `action_type` that is none (`openapi/SOURCES.md`, D-127).
    unknown_action: UnknownAction {
        /// ModelArts.2788, as the service answers.
        Seen,
        /// ModelArts.2812, as the list of codes says.
        Documented,
    }
    /// The unit of `offset` of ListTrainingJobEvents.
    events_offset: EventsOffset {
        /// Events.
        Event,
        /// Pages.
        Page,
    }
    /// The unit of `offset` of ListTrainingJobs (`openapi/SOURCES.md`, D-57).
    jobs_offset: JobsOffset {
        /// Pages.
        Page,
        /// Jobs.
        Job,
    }
    /// The jobs that `count` of ListTrainingJobs counts (`openapi/SOURCES.md`, D-157).
    jobs_count: JobsCount {
        /// All jobs that fit.
        Fitting,
        /// The jobs of this page.
        Page,
    }
}

impl Quirks {
    /// Sets one from `name=value`, for example `events-offset=page`.
    ///
    /// # Errors
    /// A sentence, if there is no such switch or no such value.
    pub fn set(&mut self, setting: &str) -> Result<(), String> {
        let (name, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("`{setting}` is not like events-offset=page"))?;
        let mut all = serde_json::to_value(*self).map_err(|error| error.to_string())?;
        all[name] = value.into();
        *self = serde_json::from_value(all).map_err(|error| error.to_string())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_set_by_name_and_refused_otherwise() {
        let mut quirks = Quirks::default();
        quirks.set("events-offset=page").unwrap();
        quirks.set("stop-again=accepts").unwrap();
        assert_eq!(
            (quirks.events_offset, quirks.stop_again, quirks.jobs_offset),
            (EventsOffset::Page, RepeatedStop::Accepts, JobsOffset::Page)
        );
        for (setting, sentence) in [
            ("events-offset", "is not like"),
            ("event-offset=page", "unknown field `event-offset`"),
            ("events-offset=line", "unknown variant `line`"),
        ] {
            let error = quirks.set(setting).unwrap_err();
            assert!(error.contains(sentence), "{error}");
        }
    }
}
