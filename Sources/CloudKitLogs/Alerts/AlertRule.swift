/// A rule by which the operator is told that something is wrong: a measure of the last minutes above or below a bound.
package struct AlertRule: Hashable, Sendable, Codable {
    /// What a rule measures.
    package enum Measure: String, Hashable, Sendable, Codable, CaseIterable {
        /// Requests.
        case requests
        /// Requests with an error, or of one code.
        case errors
        /// Requests with an error, of all requests, in percent.
        case errorPercent
        /// Requests whose client was asked to wait.
        case throttles
        /// The time in milliseconds that 99 of 100 requests do not exceed.
        case latency99
        /// Notifications that were dropped.
        case pushesDropped
        /// Free space of the disk, in megabytes.
        case freeMegabytes
        /// The size of the store, in megabytes.
        case storeMegabytes
        /// 1 if a file can be written beside the store, else 0.
        case writable
        /// The age of the newest scheduled backup, in minutes.
        case backupAgeMinutes
        /// The time by which a backup that gets all changes is behind the cloud, in seconds.
        case backupLagSeconds
    }

    /// The name, by which rules are told apart.
    package var name: String
    /// What is measured.
    package var measure: Measure
    /// The minutes that are measured; the newest value counts for the disk.
    package var minutes: Int
    /// The rule holds above this value.
    package var above: Double?
    /// The rule holds below this value.
    package var below: Double?
    /// The code of errors; nil for all.
    package var code: String?
    /// The name of the container; nil for all.
    package var container: String?
    /// The environment; nil for both.
    package var environment: String?
    /// The endpoint; nil for all.
    package var operation: String?
    /// The name of the operation group; nil for all.
    package var groupName: String?
    /// `log`, addresses of web hooks, and `mailto:` with an address.
    package var actions: [String]

    /// Creates a rule.
    package init(
        name: String, measure: Measure, minutes: Int = 5, above: Double? = nil, below: Double? = nil,
        actions: [String] = ["log"]
    ) {
        self.name = name
        self.measure = measure
        self.minutes = minutes
        self.above = above
        self.below = below
        self.actions = actions
    }

    /// The bounds of rules.
    package static let rulesMax = 100
    /// The most actions of a rule.
    package static let actionsMax = 10
    /// The longest time that a rule measures.
    package static let minutesMax = 1440

    /// Returns the reason why the rule cannot be used; nil for a good one.
    package var problem: String? {
        if name.isEmpty || name.utf8.count > 100 || LogWord.cleaned(name) != name {
            return "the name of an alert has 1 to 100 printable characters"
        }
        guard (1...Self.minutesMax).contains(minutes) else {
            return "\"minutes\" is 1 to \(Self.minutesMax)"
        }
        guard (above == nil) != (below == nil) else { return "an alert has either \"above\" or \"below\"" }
        guard (above ?? below ?? 0).isFinite else { return "the bound of an alert is a number" }
        guard (1...Self.actionsMax).contains(actions.count) else {
            return "an alert has 1 to \(Self.actionsMax) actions"
        }
        for action in actions where AlertAction(action) == nil {
            return "an action is \"log\", an address of a web hook (https://…), or mailto: with an address"
        }
        return nil
    }

    /// Returns the measured value; nil where nothing can be said yet.
    ///
    /// - Parameters:
    ///   - points: The telemetry of the last `minutes`, by minute.
    ///   - disk: The state of the disk.
    package func value(_ points: [TelemetryPoint], disk: AlertDisk?) -> Double? {
        switch measure {
        case .freeMegabytes: return disk.map { Double($0.freeBytes) / 1_000_000 }
        case .storeMegabytes: return disk.map { Double($0.storeBytes) / 1_000_000 }
        case .writable: return disk.map { $0.isWritable ? 1 : 0 }
        case .backupAgeMinutes: return disk?.backupAge.map { Double($0) / 60 }
        case .backupLagSeconds: return disk?.backupLag.map { Double($0) / 1000 }
        default: break
        }
        var all = TelemetryCounts()
        var failed = TelemetryCounts()
        for point in points where concerns(point.key) {
            all.add(point.counts)
            if let code = point.key.code, self.code == nil || self.code == code { failed.add(point.counts) }
        }
        switch measure {
        case .requests: return Double(all.count)
        case .errors: return Double(failed.count)
        case .errorPercent: return all.count == 0 ? 0 : 100 * Double(failed.count) / Double(all.count)
        case .throttles: return Double(all.throttled)
        case .latency99: return all.latencies.percentile(0.99) ?? 0
        case .pushesDropped: return Double(all.itemsFailed)
        case .freeMegabytes, .storeMegabytes, .writable, .backupAgeMinutes, .backupLagSeconds: return nil
        }
    }

    private func concerns(_ key: TelemetryKey) -> Bool {
        // Operators' orders are no requests of apps.
        key.kind != .operatorAction && (key.kind == .push) == (measure == .pushesDropped)
            && (container == nil || key.container == container)
            && (environment == nil || key.environment == environment)
            && (operation == nil || key.operation == operation)
            && (groupName == nil || key.groupName == groupName)
    }

    /// Returns a Boolean value that indicates whether a value is beyond the bound.
    package func isBeyond(_ value: Double) -> Bool {
        if let above { return value > above }
        if let below { return value < below }
        return false
    }
}

/// The state of the disk, as rules look at it.
package struct AlertDisk: Hashable, Sendable {
    /// Free bytes.
    package var freeBytes: Int64
    /// Bytes of the store.
    package var storeBytes: Int64
    /// A Boolean value that indicates whether a file could be written.
    package var isWritable: Bool
    /// The age of the newest scheduled backup in seconds; nil without a schedule.
    package var backupAge: Int64?
    /// The time in milliseconds by which the backup is behind the cloud; nil if changes are not sent all the time.
    package var backupLag: Int64?

    /// Creates a state.
    package init(
        freeBytes: Int64, storeBytes: Int64, isWritable: Bool, backupAge: Int64? = nil, backupLag: Int64? = nil
    ) {
        self.backupAge = backupAge
        self.backupLag = backupLag
        self.freeBytes = freeBytes
        self.storeBytes = storeBytes
        self.isWritable = isWritable
    }
}

/// What is done when an alert begins or ends.
package enum AlertAction: Hashable, Sendable {
    /// A line in the operator's log.
    case log
    /// A JSON object is posted to an address.
    case webHook(url: String)
    /// A message is sent.
    case mail(to: String)

    /// Reads the form in rules; nil for another text.
    package init?(_ text: String) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), text.utf8.count <= 2000 else { return nil }
        if text == "log" {
            self = .log
        } else if text.hasPrefix("mailto:") {
            let address = String(text.dropFirst("mailto:".count))
            let parts = address.split(separator: "@", omittingEmptySubsequences: false)
            // Nothing that could end a command or a header of mail.
            guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
                address.allSatisfy({ $0.isLetter || $0.isNumber || ".-_+@".contains($0) }), !address.hasPrefix("-")
            else { return nil }
            self = .mail(to: address)
        } else if text.hasPrefix("https://") || text.hasPrefix("http://") {
            let rest = text.drop { $0 != "/" }.dropFirst(2)
            let host = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            guard !host.isEmpty, !host.contains("@") else { return nil }
            self = .webHook(url: text)
        } else {
            return nil
        }
    }

    /// The action as lists show it: the address of a web hook is often a secret beyond its host.
    package var shown: String {
        switch self {
        case .log: "log"
        case .mail(let address): "mailto:\(address)"
        case .webHook(let url): "\(url.prefix { $0 != ":" })://\(Self.host(of: url))/…"
        }
    }

    /// Returns the host of an address, with its port if it names one.
    package static func host(of url: String) -> String {
        let rest = url.drop { $0 != "/" }.dropFirst(2)
        return String(rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }).lowercased()
    }
}
