import CDeterministicProcess
import Foundation

/// Runs histories of the whole stack, each in a process of its own.
@main enum WholeStackSimulation {
    static func main() {
        becomeDeterministic()
        guard deterministic_install() else {
            say("error: the threads, clocks and randomness of this process could not be replaced")
            exit(2)
        }
        let arguments = Arguments(CommandLine.arguments.dropFirst())
        guard let campaign = Campaign(arguments) else {
            say("the planted faults are \(PlantedFault.allCases.map(\.rawValue).joined(separator: ", "))")
            exit(2)
        }
        exit(campaign.run() ? 0 : 1)
    }

    /// Starts the program again with an environment in which hashes, addresses and keys follow from seeds.
    private static func becomeDeterministic() {
        let variables = [
            "SWIFT_DETERMINISTIC_HASHING": "1",
            // Without the randomness of the processor.
            "OPENSSL_ia32cap": "~0x4000000000000000:~0x40000",
            "TZ": "UTC", "LC_ALL": "C",
        ]
        let environment = ProcessInfo.processInfo.environment
        guard variables.contains(where: { environment[$0.key] != $0.value }) else { return }
        for (name, value) in variables { setenv(name, value, 1) }
        guard deterministic_fix_addresses() else {
            say("note: the addresses of this process differ from run to run")
            return
        }
        var words: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
        words.append(nil)
        execv("/proc/self/exe", words)
    }
}

/// Prints a line at once: a history that ends its process leaves what was printed before.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// The options of the program.
struct Arguments {
    private var options: [String: String] = [:]

    init(_ words: some Collection<String>) {
        var name: String?
        for word in words {
            if word.hasPrefix("--") {
                name = word
                options[word] = ""
            } else if let name {
                options[name] = word
            }
        }
    }

    func has(_ name: String) -> Bool { options[name] != nil }

    func text(_ name: String) -> String? { options[name] }

    func number(_ name: String) -> Int? { options[name].flatMap { Int($0) } }
}
