import Foundation

/// The rules for alerts as their file has them.
package struct AlertRuleList: Hashable, Sendable, Codable {
    /// The rules, each with a name of its own.
    package var rules: [AlertRule]

    /// Creates a list.
    package init(rules: [AlertRule] = []) { self.rules = rules }

    /// The error of a list that cannot be used.
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        /// The sentence for the operator.
        package var description: String

        /// Creates an error.
        package init(_ description: String) { self.description = description }
    }

    /// Reads the content of a file and checks every rule.
    ///
    /// - Throws: `Problem`.
    package init(json bytes: [UInt8]) throws(Problem) {
        do {
            self = try JSONDecoder().decode(AlertRuleList.self, from: Data(bytes))
        } catch {
            throw Problem(
                "the rules are not of the form {\"rules\": [{\"name\", \"measure\", \"minutes\", \"above\", \"actions\"}]}"
            )
        }
        try check()
    }

    /// Returns the content of a file.
    package var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Every value of a checked list can be encoded.
        return Array((try? encoder.encode(self)) ?? Data()) + [10]
    }

    /// Checks every rule.
    ///
    /// - Throws: `Problem`.
    package func check() throws(Problem) {
        guard rules.count <= AlertRule.rulesMax else {
            throw Problem("there are more than \(AlertRule.rulesMax) alerts")
        }
        for rule in rules {
            if let problem = rule.problem { throw Problem(problem) }
        }
        guard Set(rules.map(\.name)).count == rules.count else { throw Problem("two alerts have the same name") }
    }
}
