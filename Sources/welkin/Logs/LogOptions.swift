import ArgumentParser
import CloudKitLogs

/// The options for the log of requests.
struct LogOptions: ParsableArguments {
    @Option(
        name: .customLong("log-days"),
        help: ArgumentHelp("Days for which the log of requests is kept; 0: no such log.", valueName: "days"))
    var days: Int = 30

    @Option(
        name: .customLong("log-rows-max"),
        help: ArgumentHelp("Entries that the log of requests keeps at most.", valueName: "count"))
    var rowsMax: Int = 10_000_000

    @Option(
        name: .customLong("log-bytes-max"),
        help: ArgumentHelp("Bytes that the log of requests has at most.", valueName: "bytes"))
    var bytesMax: Int = 4 << 30

    func validate() throws {
        guard (0...3650).contains(days) else { throw ValidationError("--log-days is 0 to 3650.") }
        guard (10_000...1_000_000_000).contains(rowsMax) else {
            throw ValidationError("--log-rows-max is 10000 to 1000000000.")
        }
        guard bytesMax >= 16 << 20 else { throw ValidationError("--log-bytes-max is at least 16777216.") }
    }

    var retention: LogRetention { LogRetention(days: days, rowsMax: rowsMax, bytesMax: bytesMax) }
}
