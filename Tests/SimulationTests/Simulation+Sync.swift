import CloudKitModel
import CloudKitServer

@testable import CloudKitClient

/// The syncing of devices.
extension Simulation {
    /// Fetches the changes of both databases until the end, or until an answer is lost.
    func sync(on index: Int) async throws {
        note("  \(devices[index].name) syncs")
        for scope in [DatabaseScope.private, .shared] {
            guard try await followDatabase(scope, on: index) else { return }
        }
        for place in devices[index].stale.sorted() {
            guard try await followZone(place, on: index) else { return }
        }
        _ = try await tendSuspects(on: index)
    }

    /// - Returns: Whether it reached the end.
    private func followDatabase(_ scope: DatabaseScope, on index: Int) async throws -> Bool {
        while true {
            let device = devices[index]
            let request = DatabaseChangesRequest(
                syncToken: device.databaseTokens[scope], resultsLimit: roll(3) == 0 ? 1 + roll(2) : nil)
            let answer = try await deliver(
                "\(device.name) asks for changes of the \(scope.word) database", isQuiet: true
            ) {
                try await Answer {
                    try await cloud.databaseChanges(request, in: world.address(scope), by: device.caller)
                }
            }
            switch answer {
            case nil: return false
            case .refused(let failure):
                try check(
                    failure.code == .changeTokenExpired && request.syncToken != nil,
                    "database changes: \(failure.code) \(failure.reason)")
                note("    \(failure.code)")
                devices[index].databaseTokens[scope] = nil
                devices[index].forgetZones(of: scope)
            case .done(let page):
                // Without a token there are no deletions: missing records are removed.
                if request.syncToken == nil { devices[index].forgetZones(of: scope) }
                for event in page.events { try take(event, scope, on: index) }
                devices[index].databaseTokens[scope] = page.syncToken
                if !page.moreComing { return true }
            }
        }
    }

    private func take(_ event: ZoneChangeEvent, _ scope: DatabaseScope, on index: Int) throws {
        let (id, isGone) =
            switch event {
            case .changed(let id, _): (id, false)
            case .deleted(let id, _): (id, true)
            }
        let person = id.owner.isCaller ? devices[index].person : people.person(id.owner)
        guard let person else { throw Violation("a feed names a zone of nobody: \(id)") }
        let place = Place(owner: person, zone: id.zoneName)
        try check(
            devices[index].scope(of: place) == scope, "\(place) in the \(scope.word) feed of \(devices[index].name)")
        if isGone {
            devices[index].zones[place] = nil
            devices[index].stale.remove(place)
        } else {
            devices[index].stale.insert(place)
        }
    }

    private func followZone(_ place: Place, on index: Int) async throws -> Bool {
        while true {
            let device = devices[index]
            let token = device.zones[place]?.token
            let limit = roll(3) == 0 ? 1 + roll(4) : nil
            let exchange = exchange(of: place, on: index, isFeed: true)
            let answer = try await deliver("\(device.name) asks for changes of \(place)", isQuiet: true) {
                try await page(of: place, since: token, limit: limit, states: exchange?.request, for: device)
            }
            switch answer {
            case nil: return false
            case .refused(let failure):
                note("    \(failure.code)")
                guard try forget(place, after: failure, hadToken: token != nil, on: index) else { return true }
            case .done(let page):
                if token == nil { devices[index].zones[place] = nil }
                devices[index].zones[place, default: ZoneCache()].take(page)
                try await compare(page, of: place, exchange, on: index)
                if !page.moreComing {
                    devices[index].stale.remove(place)
                    try await tend(place, on: index)
                    return true
                }
            }
        }
    }

    /// Updates the copy of a zone after a refusal.
    ///
    /// - Returns: Whether to start again from the beginning.
    private func forget(
        _ place: Place, after failure: RequestFailure, hadToken: Bool, on index: Int
    ) throws -> Bool {
        devices[index].zones[place] = nil
        if failure.code == .changeTokenExpired, hadToken { return true }
        try check(
            failure.code == zoneRefusal(place, by: devices[index].person),
            "changes of \(place): \(failure.code) \(failure.reason)")
        devices[index].stale.remove(place)
        return false
    }

    /// Applies one page of a zone's feed.
    func page(
        of place: Place, since token: String?, limit: Int?, states: ZoneStatesRequest? = nil, for device: Device
    ) async throws -> Answer<ZoneChangesPage> {
        try await Answer {
            let outcome = try await cloud.zoneChanges(
                [
                    ZoneChangesRequest(
                        zoneID: zoneID(place, for: device), syncToken: token, resultsLimit: limit, states: states)
                ],
                in: address(place, for: device), by: device.caller)[0]
            switch outcome {
            case .page(let page): return page
            case .failed(_, let failure): throw failure
            }
        }
    }
}

extension ZoneCache {
    mutating func take(_ page: ZoneChangesPage) {
        for event in page.events {
            switch event {
            case .changed(let record): records[record.id.recordName] = record
            case .deleted(let tombstone): records[tombstone.recordName] = nil
            }
        }
        token = page.syncToken
    }
}

extension Device {
    /// Restarts the feed of a zone: records that it does not contain are removed.
    mutating func forgetZones(of scope: DatabaseScope) {
        for place in zones.keys where self.scope(of: place) == scope { zones[place] = nil }
        stale = stale.filter { self.scope(of: $0) != scope }
    }
}
