//! Reading and following a log.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::{LogOptions, LogPosition, LogStream, MAX_FILE_BYTES, older};

/// Maximum chunk size, which limits the memory of a slow reader.
const MAX_CHUNK_BYTES: usize = 64 << 10;

struct Reader {
    path: PathBuf,
    position: watch::Receiver<LogPosition>,
    options: LogOptions,
    since: Option<Timestamp>,
    file: Option<BufReader<File>>,
    /// Number of rotations before the open file.
    opened: u64,
    /// Lines that were read and not sent yet.
    pending: VecDeque<Vec<u8>>,
    /// Incomplete line at the end of the file.
    partial: Vec<u8>,
    /// Whether the next part continues a line.
    continues: bool,
    sent_bytes: u64,
    started: bool,
}

/// Streams the lines that the options select.
pub(super) fn stream(
    path: PathBuf,
    position: watch::Receiver<LogPosition>,
    options: LogOptions,
    now: Timestamp,
) -> LogStream {
    let ago = options.since_seconds.map(SignedDuration::from_secs);
    let since = ago.and_then(|ago| now.checked_sub(ago).ok()).or(options.since_time);
    let reader = Reader {
        path,
        position,
        options,
        since,
        file: None,
        opened: 0,
        pending: VecDeque::new(),
        partial: Vec::new(),
        continues: false,
        sent_bytes: 0,
        started: false,
    };
    stream::unfold(reader, |mut reader| async move {
        let chunk = reader.next().await.transpose()?;
        Some((chunk, reader))
    })
    .boxed()
}

impl Reader {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if self.options.limit_bytes.is_some_and(|limit| self.sent_bytes >= limit) {
                return Ok(None);
            }
            if let Some(chunk) = self.chunk() {
                return Ok(Some(chunk));
            }
            let position = *self.position.borrow_and_update();
            self.read(position)?;
            if !self.pending.is_empty() {
                continue;
            }
            if !self.options.follow || position.ended {
                return Ok(None);
            }
            // The writer has been dropped: the log is complete.
            if self.position.changed().await.is_err() {
                return Ok(None);
            }
        }
    }

    /// Reads up to a chunk; with `tail_lines`, the whole log first.
    fn read(&mut self, position: LogPosition) -> io::Result<()> {
        if self.file.is_none() {
            self.open_first(position)?;
        }
        let tail = self.options.tail_lines.filter(|_| !self.started);
        let tail = tail.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX));
        let mut read = 0;
        while tail.is_some() || read < MAX_CHUNK_BYTES {
            let Some(line) = self.line(position)? else { break };
            read += line.len();
            if let Some(line) = self.selected(&line) {
                self.pending.push_back(line);
            }
            while tail.is_some_and(|tail| self.pending.len() > tail) {
                self.pending.pop_front();
            }
        }
        self.started = true;
        Ok(())
    }

    fn open_first(&mut self, position: LogPosition) -> io::Result<()> {
        let before = File::open(older(&self.path)).ok().filter(|_| position.file > 0);
        self.opened = if before.is_some() { position.file - 1 } else { position.file };
        let file = before.map_or_else(|| File::open(&self.path), Ok);
        self.file = match file {
            Ok(file) => Some(BufReader::new(file)),
            // Nothing has been written yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// The next complete line of the file, if any.
    fn line(&mut self, position: LogPosition) -> io::Result<Option<Vec<u8>>> {
        while let Some(file) = &mut self.file {
            let limit = MAX_FILE_BYTES;
            file.take(limit).read_until(b'\n', &mut self.partial)?;
            if self.partial.ends_with(b"\n") {
                return Ok(Some(std::mem::take(&mut self.partial)));
            }
            if self.opened == position.file {
                break;
            }
            self.file = Some(BufReader::new(File::open(&self.path)?));
            self.opened = position.file;
        }
        Ok(None)
    }

    /// The output for a line, if it is selected.
    fn selected(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let entry = Entry::parse(line)?;
        if self.since.is_some_and(|since| entry.time().is_none_or(|time| time < since)) {
            return None;
        }
        let mut shown = Vec::with_capacity(line.len());
        if self.options.timestamps && !self.continues {
            shown.extend_from_slice(entry.time);
            shown.push(b' ');
        }
        shown.extend_from_slice(entry.text);
        self.continues = !entry.is_whole;
        if entry.is_whole {
            shown.push(b'\n');
        }
        Some(shown)
    }

    fn chunk(&mut self) -> Option<Bytes> {
        let mut chunk = self.pending.pop_front()?;
        while chunk.len() < MAX_CHUNK_BYTES
            && let Some(line) = self.pending.pop_front()
        {
            chunk.extend_from_slice(&line);
        }
        if let Some(limit) = self.options.limit_bytes {
            let left = usize::try_from(limit - self.sent_bytes).unwrap_or(usize::MAX);
            chunk.truncate(left);
        }
        self.sent_bytes += chunk.len() as u64;
        Some(chunk.into())
    }
}

/// A parsed log line.
struct Entry<'a> {
    time: &'a [u8],
    is_whole: bool,
    text: &'a [u8],
}

impl<'a> Entry<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut fields = line.splitn(4, |byte| *byte == b' ');
        let (time, _, tag) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { time, is_whole: tag == b"F", text: fields.next()? })
    }

    fn time(&self) -> Option<Timestamp> {
        std::str::from_utf8(self.time).ok()?.parse().ok()
    }
}

/// The last lines of a log.
pub(super) fn last_lines(path: &Path, lines: usize) -> String {
    let content = std::fs::read(path).unwrap_or_default();
    let entries: Vec<Entry<'_>> =
        content.split(|byte| *byte == b'\n').filter_map(Entry::parse).collect();
    let last = &entries[entries.len().saturating_sub(lines)..];
    let text = |entry: &Entry<'_>| format!("{}\n", String::from_utf8_lossy(entry.text));
    last.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    struct Log {
        directory: tempfile::TempDir,
        position: watch::Sender<LogPosition>,
    }

    impl Log {
        fn new() -> Self {
            Self { directory: tempfile::tempdir().unwrap(), position: watch::Sender::default() }
        }

        fn path(&self) -> PathBuf {
            self.directory.path().join("0.log")
        }

        fn write(&self, second: i64, tag: &str, text: &str) {
            let mut file = OpenOptions::new().create(true).append(true).open(self.path()).unwrap();
            writeln!(file, "{} stdout {tag} {text}", super::super::format_time(at(second)))
                .unwrap();
            self.position.send_modify(|position| position.bytes += 1);
        }

        fn stream(&self, options: LogOptions) -> LogStream {
            stream(self.path(), self.position.subscribe(), options, at(100))
        }

        async fn read(&self, options: LogOptions) -> String {
            let pieces: Vec<_> = self.stream(options).collect().await;
            let pieces = pieces.into_iter().flat_map(|chunk| chunk.unwrap().to_vec());
            String::from_utf8(pieces.collect()).unwrap()
        }
    }

    #[tokio::test]
    async fn read_applies_options() {
        let log = Log::new();
        log.write(1, "F", "one");
        log.write(90, "P", "tw");
        log.write(91, "F", "o");
        log.write(95, "F", "three");
        let all = LogOptions::default();
        assert_eq!(log.read(all.clone()).await, "one\ntwo\nthree\n");
        let tail = LogOptions { tail_lines: Some(1), ..all.clone() };
        assert_eq!(log.read(tail).await, "three\n");
        let none = LogOptions { tail_lines: Some(0), ..all.clone() };
        assert_eq!(log.read(none).await, "");
        let limited = LogOptions { limit_bytes: Some(5), ..all.clone() };
        assert_eq!(log.read(limited).await, "one\nt");
        let since = LogOptions { since_seconds: Some(10), ..all.clone() };
        assert_eq!(log.read(since).await, "two\nthree\n");
        let since = LogOptions { since_time: Some(at(95)), timestamps: true, ..all };
        assert_eq!(log.read(since).await, "2023-11-14T22:14:55.000000000Z three\n");
        assert_eq!(last_lines(&log.path(), 1), "three\n");
    }

    #[tokio::test]
    async fn follow_reads_each_line_once_across_rotation() {
        let log = Log::new();
        log.write(1, "F", "one");
        let mut stream = log.stream(LogOptions { follow: true, ..LogOptions::default() });
        assert_eq!(stream.next().await.unwrap().unwrap(), "one\n");
        log.write(2, "F", "two");
        std::fs::rename(log.path(), older(&log.path())).unwrap();
        log.position.send_modify(|position| position.file += 1);
        log.write(3, "F", "three");
        log.position.send_modify(|position| position.ended = true);
        let mut rest = Vec::new();
        while let Some(chunk) = stream.next().await {
            rest.extend_from_slice(&chunk.unwrap());
        }
        assert_eq!(rest, b"two\nthree\n");
    }

    #[tokio::test]
    async fn read_without_file_is_empty() {
        assert_eq!(Log::new().read(LogOptions::default()).await, "");
    }
}
