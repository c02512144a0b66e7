import Logging

/// A log handler that writes one line per event to standard error, as text or JSON.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let label: String
    private let format: LogFormat

    init(label: String, level: Logger.Level, format: LogFormat) {
        self.label = label
        self.logLevel = level
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var values = metadata
        if let extra = event.metadata { values.merge(extra) { $1 } }
        if let error = event.error { values["error"] = .string(String(describing: error)) }
        let pairs = values.map { (name: $0.key, text: "\($0.value)") }.sorted { $0.name < $1.name }
        var bytes: [UInt8] = []
        format.append(
            event.message.description, time: LogTime.now, level: event.level, values: pairs, to: &bytes)
        Output.write(bytes, to: 2)
    }
}
