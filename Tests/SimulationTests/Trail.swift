import CloudKitModel

/// The log of one history: the steps of devices and the answers of the cloud, in order.
///
/// Two runs of a seed have the same trail on all engines and in all processes. Encrypted bytes and opaque tokens are logged with
/// their length only, because they differ by design.
final class Trail {
    private(set) var lines: [String] = []
    /// Whether answers are logged, which is as expensive as creating them, and only needed for comparisons.
    private let hasAnswers: Bool

    init(hasAnswers: Bool) { self.hasAnswers = hasAnswers }

    func note(_ line: String) { lines.append(line) }

    /// Logs an answer, or the code of its refusal.
    func answer<Value>(
        _ text: (Value) -> String, _ body: () async throws -> Value
    ) async throws -> Value {
        guard hasAnswers else { return try await body() }
        do {
            let value = try await body()
            lines.append("    " + text(value))
            return value
        } catch let failure as RequestFailure {
            lines.append("    " + failure.trace)
            throw failure
        }
    }

    /// Logs an outcome.
    func answer(_ text: @autoclosure () -> String) { if hasAnswers { lines.append("    " + text()) } }

    /// A 64-bit digest of the trail (FNV-1a).
    var fingerprint: UInt64 {
        lines.reduce(0xcbf2_9ce4_8422_2325) { hash, line in
            (Array(line.utf8) + [10]).reduce(hash) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        }
    }
}

/// A part of an answer with a textual form for trails.
protocol Traceable {
    var trace: String { get }
}

extension Array where Element: Traceable {
    var trace: String { "[" + map(\.trace).joined(separator: ", ") + "]" }
}

extension Optional where Wrapped: Traceable {
    var trace: String { map(\.trace) ?? "-" }
}

extension RequestFailure: Traceable {
    var trace: String { "\(code): \(reason) \(retryAfter ?? 0)" + (serverRecord.map { " " + $0.value.trace } ?? "") }
}

// MARK: Records

extension Record: Traceable {
    var trace: String {
        let fields = fields.map { field in
            let isOpen = !field.type.isEncrypted && field.type.base != .asset
            return "\(field.name)=" + (isOpen ? String(decoding: field.json, as: UTF8.self) : "<\(field.json.count)>")
        }
        let keys = protection.map { " epoch \($0.epoch) <\($0.keys.count)>" } ?? ""
        return
            "\(id.zoneID.trace)/\(id.recordName) \(recordType) \(changeTag.value) \(created.trace) \(modified.trace) "
            + "\(parent ?? "-") \(share ?? "-") \(shortGUID ?? "-") \(fields.joined(separator: " "))\(keys)"
            + (sharing.map { " " + $0.trace } ?? "")
    }
}

extension Stamp: Traceable {
    var trace: String { "\(timestamp) \(user) \(deviceID ?? "-")" }
}

extension RecordOutcome: Traceable {
    var trace: String {
        switch self {
        case .record(let record): record.trace
        case .deleted(let tombstone): tombstone.trace
        case .failed(let name, let failure): "\(name) \(failure.trace)"
        }
    }
}

extension RecordTombstone: Traceable {
    var trace: String { "†\(recordName) \(recordType ?? "-") \(changeTag?.value ?? "-")" }
}

// MARK: Zones

extension ZoneID: Traceable {
    var trace: String { "\(owner):\(zoneName)" }
}

extension Zone: Traceable {
    var trace: String { "\(id.trace) epoch \(keyEpoch)" }
}

extension ZoneOutcome: Traceable {
    var trace: String {
        switch self {
        case .zone(let zone): zone.trace
        case .deleted(let id): "†" + id.trace
        case .failed(let id, let failure): "\(id.trace) \(failure.trace)"
        }
    }
}

// MARK: Changes

extension RecordChangeEvent: Traceable {
    var trace: String {
        switch self {
        case .changed(let record): record.trace
        case .deleted(let tombstone): tombstone.trace
        }
    }
}

extension ZoneChangesOutcome: Traceable {
    var trace: String {
        switch self {
        case .page(let page): "\(page.events.trace) <\(page.syncToken.count)>\(page.moreComing ? " and more" : "")"
        case .failed(let id, let failure): "\(id.trace) \(failure.trace)"
        }
    }
}

extension ZoneChangeEvent: Traceable {
    var trace: String {
        switch self {
        case .changed(let id, let token): "\(id.trace) <\(token.count)>"
        case .deleted(let id, let reason): "†\(id.trace) \(reason.rawValue)"
        }
    }
}

extension QueryPage: Traceable {
    var trace: String { "\(records.trace)\(continuationMarker == nil ? "" : " and more")" }
}

extension DatabaseChangesPage: Traceable {
    var trace: String { "\(events.trace) <\(syncToken.count)>\(moreComing ? " and more" : "")" }
}

// MARK: Shares

extension Share: Traceable {
    var trace: String {
        "\(root ?? "everything") \(publicPermission) \(participants.trace) \(currentParticipantID ?? "-") "
            + "\(allowsAccessRequests) \(requesters.trace) \(blocked.trace) \(keys.trace)"
    }
}

extension ShareParticipant: Traceable {
    var trace: String {
        "\(id) \(role) \(permission) \(acceptance) \(identity.trace) \(oneTimeGUID ?? "-") \(isApprovedRequester) "
            + "\(added ?? 0) \(keyEpoch ?? 0) \(grantEpoch ?? 0)"
    }
}

extension PersonIdentity: Traceable {
    var trace: String {
        "\(user?.recordName ?? "-") \(lookup?.emailAddress ?? "-") \(givenName ?? "-") <\(publicIdentity?.count ?? 0)>"
    }
}

extension ShareKeys: Traceable {
    var trace: String {
        let epochs = epochs.map { "\($0.epoch) <\($0.blob?.count ?? 0) \($0.link?.count ?? 0) \($0.wrap?.count ?? 0)>" }
        return "\(epoch) \(needsNewEpoch) \(waiting) \(epochs)"
    }
}

extension ShareInvitationOutcome: Traceable {
    var trace: String {
        switch self {
        case .invitation(let invitation):
            "\(invitation.share.trace) \(invitation.role) \(invitation.permission) \(invitation.acceptance)"
        case .failed(let failure): failure.trace
        }
    }
}
