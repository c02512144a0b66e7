import Foundation

/// The results of a run.
struct Report: Encodable {
    var processors = ProcessInfo.processInfo.activeProcessorCount
    var memoryGiB = Int(ProcessInfo.processInfo.physicalMemory >> 30)
    var system = Self.system
    var quick: Bool
    var comparisons: [Comparison] = []
    var figures: [Figure] = []

    /// The machine, in one line.
    var heading: String {
        "\(processors) processors, \(memoryGiB) GiB, \(system)"
            + (quick ? ", QUICK: a smoke run, the figures are not reliable" : "")
    }

    /// The results as JSON.
    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(self)
        }
    }

    /// The results as a table in Markdown.
    var table: String {
        let rows =
            [["", "measured", "result", "target", ""], [String](repeating: "---", count: 5)]
            + comparisons.map(\.row) + figures.map(\.row)
        return "\(heading)\n\n"
            + rows.map { "| " + $0.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |\n" }.joined()
    }

    private static var system: String {
        #if arch(x86_64)
            let architecture = "x86_64"
        #elseif arch(arm64)
            let architecture = "arm64"
        #else
            let architecture = "another architecture"
        #endif
        #if os(Linux)
            return "Linux \(architecture)"
        #else
            return "macOS \(architecture)"
        #endif
    }
}
