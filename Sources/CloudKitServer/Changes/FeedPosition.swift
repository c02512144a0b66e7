import CloudKitModel
import CloudKitRecordLayer

/// The position in a zone's feed at which a request continues, decided from its token and the zone's header.
package enum FeedPosition: Hashable, Sendable {
    /// Oldest change first, after `version`; deletions up to `baseline` are passed over.
    case forward(after: UInt64, baseline: UInt64)
    /// Newest change first, before `version` and after `floor`; then forward from `top`.
    case backward(before: UInt64, floor: UInt64, top: UInt64)
    /// Nothing is reported (docs/web-services.md §8.3).
    case caughtUp
    case refuse(RequestFailure)

    /// Rules B-CHG-02, B-CHG-08 to B-CHG-10. A token ahead of the data, after a restore, has expired.
    ///
    /// - Parameters:
    ///   - token: nil: none was sent.
    ///   - isReversed: Whether the request wants the newest change first.
    package init(token: SyncToken?, zone: ZoneHeader, isReversed: Bool) {
        guard let token else {
            self =
                isReversed
                ? .backward(before: zone.latestVersion + 1, floor: 0, top: zone.latestVersion)
                : .forward(after: 0, baseline: zone.latestVersion)
            return
        }
        guard !Self.isAhead(token, zone) else {
            self = .refuse(.tokenAhead)
            return
        }
        guard Self.isCurrent(token, zone) else {
            self = .refuse(.tokenExpired)
            return
        }
        switch token.kind {
        case .zoneReversed:
            self = .backward(before: token.version, floor: token.floor, top: token.baseline)
        case .zone where isReversed && token.baseline == 0:
            self = .backward(before: zone.latestVersion + 1, floor: token.version, top: zone.latestVersion)
        case .zone, .database, .member:
            self = .forward(after: token.version, baseline: token.baseline)
        }
    }

    /// Returns whether the token knows a later state of the zone than the store has.
    private static func isAhead(_ token: SyncToken, _ zone: ZoneHeader) -> Bool {
        guard token.zone == zone.number else { return false }
        switch token.kind {
        case .zone: return max(token.version, token.baseline) > zone.latestVersion
        // Its version is the entry before which it continues.
        case .zoneReversed: return token.baseline > zone.latestVersion
        case .database, .member: return false
        }
    }

    /// Returns whether nothing is missing between the token and the zone: not another incarnation, not ahead of the data, not
    /// before deletions that were forgotten.
    private static func isCurrent(_ token: SyncToken, _ zone: ZoneHeader) -> Bool {
        guard token.kind == .zone || token.kind == .zoneReversed, token.zone == zone.number else { return false }
        let newest = token.kind == .zoneReversed ? token.baseline : token.version
        guard newest <= zone.latestVersion, token.baseline <= zone.latestVersion else { return false }
        // A client that began without a token has deletions before its baseline passed over anyway.
        let known = token.kind == .zoneReversed && token.floor > 0 ? token.floor : max(token.version, token.baseline)
        return known >= zone.horizon
    }
}
