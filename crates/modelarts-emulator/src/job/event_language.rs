//! Language of event texts, selected by the header `X-Language` of ListTrainingJobEvents.
//!
//! The documents contain only English texts; the Chinese texts are the emulator's own translations.

use axum::http::HeaderMap;

use crate::job::event::{EventKind, Wording};

/// A language of event texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    /// Reads the language from the headers. Unknown values count as absent; the default is English.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        match headers.get("x-language") {
            Some(value) if value.as_bytes().eq_ignore_ascii_case(b"zh-cn") => Self::Chinese,
            _ => Self::English,
        }
    }
}

impl EventKind {
    /// Returns the text in a language. Events of the cluster and of seeds exist in one language
    /// only.
    pub(crate) fn text(&self, wording: Wording, language: Language) -> String {
        match language {
            Language::English => None,
            Language::Chinese => self.chinese(),
        }
        .unwrap_or_else(|| self.message(wording))
    }

    #[rustfmt::skip]
    fn chinese(&self) -> Option<String> {
        Some(match self {
            Self::Created => "训练作业已创建。".into(),
            Self::CreateFailed { cause } => format!("训练作业失败：{cause}"),
            Self::PrepareTimedOut => "准备阶段超时。可能的原因是跨区域同步算法或创建共享存储超时。".into(),
            Self::Queuing => "训练作业正在排队，等待分配资源。".into(),
            Self::QueueFailed => "训练作业排队失败。".into(),
            Self::Running => "训练作业开始运行。".into(),
            Self::Completed => "训练作业运行完成。".into(),
            Self::Failed => "训练作业运行失败。".into(),
            Self::Preempted => "训练作业被抢占。".into(),
            Self::MaybeHanging => "系统检测到训练作业可能已卡死。请到作业详情页面查看原因并处理。".into(),
            Self::Restarted => "训练作业已重启。".into(),
            Self::StoppedByUser => "训练作业已被手动停止。".into(),
            Self::AutoStopped { hours } => format!("训练作业已停止。（最长运行时间：{hours}小时）"),
            Self::Deleted => "训练作业已被手动删除。".into(),
            Self::Billed => "计费信息已同步。".into(),
            Self::PreCheckStarted { task } => format!("[{task}] 正在预检训练环境。"),
            Self::PreCheckDone { task, seconds } => format!("[{task}] [耗时：{seconds:.3}秒] 预检完成。"),
            Self::PreCheckFailed { task, seconds, error } => {
                format!("[{task}] [耗时：{seconds:.3}秒] 预检失败。错误：{error}")
            }
            Self::CodeDownloading { task } => format!("[{task}] 正在下载训练代码。"),
            Self::CodeDownloaded { task, seconds } => format!("[{task}] [耗时：{seconds:.3}秒] 训练代码下载完成。"),
            Self::CodeDownloadFailed { task, seconds, cause } => {
                format!("[{task}] [耗时：{seconds:.3}秒] 训练代码下载失败。失败原因：{cause}")
            }
            Self::InputDownloading { task } => format!("[{task}] 正在下载训练输入。"),
            Self::InputDownloaded { task, seconds, parameter } => {
                format!("[{task}] [耗时：{seconds:.3}秒] 训练输入（参数：{parameter}）下载完成。")
            }
            Self::InputDownloadFailed { task, seconds, parameter, cause } => {
                format!("[{task}] [耗时：{seconds:.3}秒] 训练输入（参数：{parameter}）下载失败。失败原因：{cause}")
            }
            Self::DependenciesInstalling { task, files } => format!("[{task}] 正在安装Python依赖包，导入文件：{files}"),
            Self::DependenciesInstalled { task, seconds, files } => {
                format!("[{task}] [耗时：{seconds:.3}秒] Python依赖包安装完成，导入文件：{files}")
            }
            Self::DependenciesFailed { task, seconds, files, cause } => {
                format!("[{task}] [耗时：{seconds:.3}秒] Python依赖包安装失败，导入文件：{files}。失败原因：{cause}")
            }
            Self::TaskStarted { task } => format!("[{task}] 训练作业开始运行。"),
            Self::TaskFinished { task, exit_code } => format!("[{task}] 训练作业运行结束，退出码：{exit_code}。"),
            Self::OutputUploading { task, parameter } => format!("[{task}] 正在上传训练输出（参数：{parameter}）。"),
            Self::OutputUploaded { task, seconds, parameter } => {
                format!("[{task}] [耗时：{seconds:.3}秒] 训练输出（参数：{parameter}）上传完成。")
            }
            Self::PodPulled { .. }
            | Self::PodCreated { .. }
            | Self::PodStarted { .. }
            | Self::TerminateJob { .. }
            | Self::Given { .. } => return None,
        })
    }
}
