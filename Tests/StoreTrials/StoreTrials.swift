import CFaultyFiles
import Foundation
import SeededChance

/// Trials of the store's engine on files and memory that fail, in a process of their own.
@main struct StoreTrials {
    static func main() async {
        var arguments = Arguments(CommandLine.arguments.dropFirst())
        guard faulty_files_install() == 1 else {
            say("SQLite's files and memory could not be replaced")
            exit(1)
        }
        do {
            exit(try await run(&arguments) ? 0 : 1)
        } catch {
            say("error: \(error)")
            exit(1)
        }
    }

    private static func run(_ arguments: inout Arguments) async throws -> Bool {
        let generator = SplitMix64(seed: UInt64(arguments.number("--seed") ?? 1))
        switch arguments.command {
        case "faults":
            var campaign = FaultCampaign(
                sample: arguments.number("--sample"), names: Set(arguments.values("--fault")),
                only: arguments.number("--at"), generator: generator)
            return try await campaign.run()
        case "reset-race":
            alarm(60)
            return try await ResetRace.run()
        case "power-cuts":
            var trial = PowerCutTrial(cutCount: arguments.number("--count") ?? 1000, generator: generator)
            return try await trial.run()
        case "asset-cuts":
            var trial = AssetCutTrial(cutCount: arguments.number("--count") ?? 1000, generator: generator)
            return try await trial.run()
        case "neighbours":
            return try await Neighbours(seconds: arguments.number("--seconds") ?? 10).run()
        case "neighbour":
            guard let path = arguments.values("--path").last, let first = arguments.number("--first") else {
                return false
            }
            return try await Neighbours.runChild(path, first: first)
        default:
            say(
                """
                usage: store-trials faults [--sample COUNT] [--seed SEED] [--fault NAME] [--at CALL]
                       store-trials power-cuts [--count COUNT] [--seed SEED]
                       store-trials asset-cuts [--count COUNT] [--seed SEED]
                       store-trials neighbours [--seconds SECONDS]
                       store-trials reset-race
                """)
            return false
        }
    }
}

/// Prints a line at once: a trial that ends the process leaves what was printed before.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// The command and the options of the program.
struct Arguments {
    let command: String
    private var options: [String: [String]] = [:]

    init(_ words: some Collection<String>) {
        command = words.first ?? ""
        var name: String?
        for word in words.dropFirst() {
            if word.hasPrefix("--") {
                name = word
            } else if let name {
                options[name, default: []].append(word)
            }
        }
    }

    func values(_ name: String) -> [String] { options[name] ?? [] }

    func number(_ name: String) -> Int? { values(name).last.flatMap { Int($0) } }
}
