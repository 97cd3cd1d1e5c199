//! Switches, each with a default, for behaviour on which sources are silent or disagree
//! (`openapi/SOURCES.md`, "Behaviour").

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

        /// Values of all switches. Command-line flags and files write members and variants in lower
        /// case with hyphens: `events-offset=page`.
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
    /// Phase of a job stopped after its maximum duration (`openapi/SOURCES.md`, D-154).
    auto_stopped: AutoStopPhase {
        /// `Terminated`, as after a stop by a user. This is the default.
        Terminated,
        /// `Failed`, as after a failure.
        Failed,
    }
    /// Phase of a job whose nodes were taken by another job (`openapi/SOURCES.md`, D-155).
    preempted: PreemptionPhase {
        /// `Pending`: the job is queued again. This is the default.
        Pending,
        /// `Failed`: the job ends.
        Failed,
    }
    /// Effect of DeleteTrainingJob on a job that has not ended (`openapi/SOURCES.md`, D-156).
    delete_active: DeleteActive {
        /// The job is stopped first, and then deleted. This is the default.
        Ends,
        /// The request is rejected with 400.
        Refuses,
    }
    /// Response of StopTrainingJob while the job is Terminating (`openapi/SOURCES.md`, D-153).
    stop_again: RepeatedStop {
        /// 409, as for a job that has ended. This is the default.
        Refuses,
        /// 202, with no effect on the job.
        Accepts,
    }
    /// Error code for an unknown `action_type` (`openapi/SOURCES.md`, D-127).
    unknown_action: UnknownAction {
        /// ModelArts.2788, as observed on the service. This is the default.
        Seen,
        /// ModelArts.2812, as in the documented list of codes.
        Documented,
    }
    /// Unit of `offset` of ListTrainingJobEvents.
    events_offset: EventsOffset {
        /// The offset counts events. This is the default.
        Event,
        /// The offset counts pages.
        Page,
    }
    /// Unit of `offset` of ListTrainingJobs (`openapi/SOURCES.md`, D-57).
    jobs_offset: JobsOffset {
        /// The offset counts pages. This is the default.
        Page,
        /// The offset counts jobs.
        Job,
    }
    /// Jobs that `count` of ListTrainingJobs includes (`openapi/SOURCES.md`, D-157).
    jobs_count: JobsCount {
        /// All jobs that match the search. This is the default.
        Fitting,
        /// The jobs of the returned page.
        Page,
    }
    /// S3 keys in the environment of jobs (`openapi/SOURCES.md`, D-136).
    obs_keys: JobObsKeys {
        /// Jobs have no S3 keys, as reported by a user of the service. This is the default.
        Absent,
        /// The environment has the variables of boto3 and the AWS CLI: keys, endpoint and region.
        Environment,
    }
    /// Internet access of jobs (`openapi/SOURCES.md`, D-137).
    internet: Internet {
        /// Jobs use the network of this machine. This is the default.
        Machine,
        /// Jobs reach this machine only: the variables of proxies name one that does not exist.
        None,
    }
}

impl Quirks {
    /// Sets a switch from `name=value`, for example `events-offset=page`.
    ///
    /// # Errors
    /// Returns an error message if the switch or the value does not exist.
    pub fn set(&mut self, setting: &str) -> Result<(), String> {
        let (name, value) = setting.split_once('=').ok_or_else(|| {
            format!("`{setting}` must have the form name=value, for example events-offset=page")
        })?;
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
            ("events-offset", "must have the form name=value"),
            ("event-offset=page", "unknown field `event-offset`"),
            ("events-offset=line", "unknown variant `line`"),
        ] {
            let error = quirks.set(setting).unwrap_err();
            assert!(error.contains(sentence), "{error}");
        }
    }
}
