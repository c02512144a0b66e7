/// The alerts that are under way: each is reported once when it begins and once when it ends.
package struct AlertEpisodes: Hashable, Sendable, Codable {
    /// Since when alerts are under way, in milliseconds since 1970, by the names of their rules.
    package private(set) var since: [String: Int64] = [:]

    /// Creates a state without alerts.
    package init() {}

    /// Decides which alerts begin and which end.
    ///
    /// - Parameter values: The values of rules by their names; a rule without one keeps its state.
    /// - Returns: What is to be reported, in the order of the rules; a rule that was removed ends its alert unreported.
    package mutating func update(_ rules: [AlertRule], values: [String: Double], now: Int64) -> [AlertEvent] {
        since = since.filter { name, _ in rules.contains { $0.name == name } }
        var events: [AlertEvent] = []
        for rule in rules {
            guard let value = values[rule.name] else { continue }
            switch (rule.isBeyond(value), since[rule.name]) {
            case (true, nil):
                since[rule.name] = now
                events.append(AlertEvent(rule: rule, isOver: false, value: value, time: now, since: now))
            case (false, let began?):
                since[rule.name] = nil
                events.append(AlertEvent(rule: rule, isOver: true, value: value, time: now, since: began))
            case (true, _?), (false, nil): break
            }
        }
        return events
    }
}

/// The beginning or the end of an alert.
package struct AlertEvent: Hashable, Sendable {
    /// The rule.
    package var rule: AlertRule
    /// A Boolean value that indicates whether the alert has ended.
    package var isOver: Bool
    /// The measured value.
    package var value: Double
    /// The time of the event, in milliseconds since 1970.
    package var time: Int64
    /// The time at which the alert began.
    package var since: Int64

    /// Creates an event.
    package init(rule: AlertRule, isOver: Bool, value: Double, time: Int64, since: Int64) {
        self.rule = rule
        self.isOver = isOver
        self.value = value
        self.time = time
        self.since = since
    }

    /// The sentence for people.
    package var text: String {
        let bound =
            rule.above.map { "above \(Self.number($0))" } ?? rule.below.map { "below \(Self.number($0))" } ?? ""
        let place = [rule.container, rule.environment, rule.operation, rule.groupName, rule.code].compactMap { $0 }
        let concern = place.isEmpty ? "" : " (\(place.joined(separator: ", ")))"
        let state = isOver ? "has ended" : "has begun"
        return
            "Alert \"\(rule.name)\" \(state): \(rule.measure.rawValue)\(concern) is \(Self.number(value)), the bound is \(bound)."
    }

    private static func number(_ value: Double) -> String {
        let rounded = (value * 100).rounded() / 100
        return Int64(exactly: rounded).map { "\($0)" } ?? "\(rounded)"
    }
}
