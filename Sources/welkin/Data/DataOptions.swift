import ArgumentParser
import Foundation

/// The option for the data folder that a command works on.
struct DataOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The cloud's data folder. [env: WELKIN_DATA]", valueName: "dir"))
    var data: String = ProcessInfo.processInfo.environment["WELKIN_DATA"] ?? "./data"
}
