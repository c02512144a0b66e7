import ArgumentParser
import CloudKitLogs
import Foundation
import HTTPTransfer
import Logging

/// Manages the rules by which a cloud tells its operator that something is wrong.
struct AlertsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "alerts", abstract: "Manage the rules for alerts.",
        discussion: """
            A running cloud checks the rules every 15 seconds. An alert is reported once when it begins and once when it ends, to the log, \
            a web hook or by mail. See docs/logs.md.
            """,
        subcommands: [ListAlertsCommand.self, AddAlertCommand.self, RemoveAlertCommand.self])
}

struct ListAlertsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the rules for alerts.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON, with the whole addresses of web hooks.") var json = false

    func run() async throws {
        try await DataFolder.with(folder) { folder in
            let file = AlertFile(folder: folder.path)
            let rules = try file.rules()
            if json { return try Output.json(rules) }
            let episodes = file.episodes()
            Output.table(
                [["NAME", "MEASURE", "BOUND", "MINUTES", "CONCERNS", "SINCE", "ACTIONS"]]
                    + rules.rules.map { rule in
                        [
                            rule.name, rule.measure.rawValue, rule.bound, String(rule.minutes), rule.concern,
                            episodes.since[rule.name].map { Output.time($0) } ?? "-",
                            rule.actions.compactMap { AlertAction($0)?.shown }.joined(separator: " "),
                        ]
                    })
        }
    }
}

struct AddAlertCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a rule, or replace the one of the same name.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The name of the rule.") var name: String
    @Option(
        help: ArgumentHelp(
            "What is measured: \(AlertRule.Measure.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "measure"))
    var measure: AlertRule.Measure
    @Option(help: "The minutes that are measured.") var minutes: Int = 5
    @Option(help: "The alert lasts while the value is above this.") var above: Double?
    @Option(help: "The alert lasts while the value is below this.") var below: Double?
    @Option(help: "The code of errors that count, such as internalError.") var code: String?
    @Option(help: "The container that counts.") var container: String?
    @Option(help: "The environment that counts.") var environment: String?
    @Option(help: "The endpoint that counts, such as records/modify.") var operation: String?
    @Option(name: .customLong("group"), help: "The name of the operation group that counts.") var groupName: String?
    @Option(
        name: .customLong("action"), parsing: .singleValue,
        help: "log, https://… of a web hook, or mailto: with an address; may be repeated.")
    var actions: [String] = ["log"]

    func run() async throws {
        var rule = AlertRule(
            name: name, measure: measure, minutes: minutes, above: above, below: below, actions: actions)
        rule.code = code
        rule.container = container
        rule.environment = environment
        rule.operation = operation
        rule.groupName = groupName
        if let problem = rule.problem { throw CommandFailure(problem) }
        let added = rule
        try await DataFolder.with(folder) { folder in
            try await folder.order("alerts/save", details: ["alert": added.name, "measure": added.measure.rawValue]) {
                let file = AlertFile(folder: folder.path)
                var list = try file.rules()
                list.rules.removeAll { $0.name == added.name }
                list.rules.append(added)
                try file.write(list)
            }
        }
        Output.result("\(name): \(measure.rawValue) \(rule.bound) over \(minutes) min.")
    }
}

struct RemoveAlertCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a rule.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The name of the rule.") var name: String

    func run() async throws {
        try await DataFolder.with(folder) { folder in
            let file = AlertFile(folder: folder.path)
            var list = try file.rules()
            guard list.rules.contains(where: { $0.name == name }) else {
                throw CommandFailure("there is no alert \"\(name)\"; see welkin alerts list")
            }
            list.rules.removeAll { $0.name == name }
            let rest = list
            try await folder.order("alerts/remove", details: ["alert": name]) { try file.write(rest) }
        }
        Output.result("\(name) removed.")
    }
}

extension AlertRule {
    /// The bound in words.
    var bound: String { above.map { "above \($0)" } ?? below.map { "below \($0)" } ?? "" }

    /// The requests that count.
    var concern: String {
        let words = [container, environment, operation, groupName, code].compactMap { $0 }
        return words.isEmpty ? "all" : words.joined(separator: " ")
    }
}

extension AlertRule.Measure: ExpressibleByArgument {}
