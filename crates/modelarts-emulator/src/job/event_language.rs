//! Event texts in the language of the header `X-Language`. The emulator defines the Chinese texts.

use axum::http::HeaderMap;

use crate::job::event::{EventKind, Wording};

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
    /// Returns the text. Events of the cluster and of seeds exist in one language only.
    pub(crate) fn text(&self, wording: Wording, language: Language) -> String {
        match language {
            Language::English => None,
            Language::Chinese => self.chinese(),
        }
        .unwrap_or_else(|| self.message(wording))
    }

    fn chinese(&self) -> Option<String> {
        let (name, _) = self.name_and_fields();
        let row = CHINESE.iter().find(|(kind, _)| *kind == name)?;
        Some(self.fill(row.1))
    }
}

/// Chinese texts by kind, with the placeholders of the English texts; `{hours}` is a number.
const CHINESE: &[(&str, &str)] = &[
    ("Created", "训练作业已创建。"),
    ("CreateFailed", "训练作业失败：{cause}"),
    ("PrepareTimedOut", "准备阶段超时。可能的原因是跨区域同步算法或创建共享存储超时。"),
    ("Queuing", "训练作业正在排队，等待分配资源。"),
    ("QueueFailed", "训练作业排队失败。"),
    ("Running", "训练作业开始运行。"),
    ("Completed", "训练作业运行完成。"),
    ("Failed", "训练作业运行失败。"),
    ("Preempted", "训练作业被抢占。"),
    ("MaybeHanging", "系统检测到训练作业可能已卡死。请到作业详情页面查看原因并处理。"),
    ("Restarted", "训练作业已重启。"),
    ("StoppedByUser", "训练作业已被手动停止。"),
    ("AutoStopped", "训练作业已停止。（最长运行时间：{hours}小时）"),
    ("Deleted", "训练作业已被手动删除。"),
    ("Billed", "计费信息已同步。"),
    ("PreCheckStarted", "[{task}] 正在预检训练环境。"),
    ("PreCheckDone", "[{task}] [耗时：{seconds}秒] 预检完成。"),
    ("PreCheckFailed", "[{task}] [耗时：{seconds}秒] 预检失败。错误：{error}"),
    ("CodeDownloading", "[{task}] 正在下载训练代码。"),
    ("CodeDownloaded", "[{task}] [耗时：{seconds}秒] 训练代码下载完成。"),
    ("CodeDownloadFailed", "[{task}] [耗时：{seconds}秒] 训练代码下载失败。失败原因：{cause}"),
    ("InputDownloading", "[{task}] 正在下载训练输入。"),
    ("InputDownloaded", "[{task}] [耗时：{seconds}秒] 训练输入（参数：{parameter}）下载完成。"),
    (
        "InputDownloadFailed",
        "[{task}] [耗时：{seconds}秒] 训练输入（参数：{parameter}）下载失败。失败原因：{cause}",
    ),
    ("DependenciesInstalling", "[{task}] 正在安装Python依赖包，导入文件：{files}"),
    (
        "DependenciesInstalled",
        "[{task}] [耗时：{seconds}秒] Python依赖包安装完成，导入文件：{files}",
    ),
    (
        "DependenciesFailed",
        "[{task}] [耗时：{seconds}秒] Python依赖包安装失败，导入文件：{files}。失败原因：{cause}",
    ),
    ("TaskStarted", "[{task}] 训练作业开始运行。"),
    ("TaskFinished", "[{task}] 训练作业运行结束，退出码：{exit_code}。"),
    ("OutputUploading", "[{task}] 正在上传训练输出（参数：{parameter}）。"),
    ("OutputUploaded", "[{task}] [耗时：{seconds}秒] 训练输出（参数：{parameter}）上传完成。"),
];
