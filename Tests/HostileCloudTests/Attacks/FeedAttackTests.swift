import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Whole records, feeds and zones as they were, or as they are not.
@Suite(.timeLimit(.minutes(20))) struct FeedAttackTests {
    @Test(arguments: Attack.of(.feeds))
    func `B-TM-04 a cloud that shows another history`(_ attack: Attack) async throws {
        try await Stage.check(attack) { stage in try await stage.playFeeds() }
    }
}

extension Stage {
    fileprivate func playFeeds() async throws {
        try await makeFolder()
        let phone = try await device("ada")
        let laptop = try await device("ada", "laptop")
        try await feed(phone.own)
        let known = try await feed(laptop.own).token
        let whole = try #require(liar.traffic.last { $0.endpoint == "changes/zone" }).answer
        switch attack {
        case .recordRolledBack, .recordRolledBackAfterRestart:
            try await write("secret later text", to: "One", phone.own)
            try await feed(phone.own)
            let reader = attack == .recordRolledBack ? phone : try cloud.restarted(phone)
            let older = try #require(liar.versions(of: "One").first)
            for reading in Reading.allCases {
                try await lie {
                    $0.show(older)
                } during: {
                    try await reading.read("One", Self.zone, reader.own)
                }
            }
        case .recordRolledBackElsewhere:
            let older = try #require(liar.versions(of: "One").first)
            try await write("secret later text", to: "One", phone.own)
            try await feed(phone.own)
            try await lie {
                $0.show(older)
            } unnoticed: {
                _ = try await text("One", laptop.own)
            } during: {
                try await feed(laptop.own, since: known)
            }
        case .restorationInvented:
            let held = try await phone.own.record(for: Self.id("One"))
            try await write("secret later text", to: "One", laptop.own)
            let newest = try await phone.own.record(for: Self.id("One"))
            let older = try #require(liar.versions(of: "One").first)
            for reading in Reading.allCases {
                try await lie {
                    $0.headers["x-welkin-store-epoch"] = "abc;1000"
                    $0.show(older)
                } during: {
                    try await reading.read("One", Self.zone, phone.own)
                }
            }
            if !isHonest {
                // The lie stays in the profile for the user to see, also when the cloud tells the truth again.
                let claims = try phone.configuration.deviceProfile.restorations().clouds.values.flatMap(\.claims)
                #expect(claims.first?.restoredTo == 1000 && claims.first?.older == ["Notes/One"])
            }
            // What the app saves is based on what it has seen.
            newest.encryptedValues["text"] = "secret newest text"
            _ = try await phone.own.save(newest)
            try await read("secret newest text", of: "One", laptop.own)
            held.encryptedValues["text"] = "secret text of a version that was overtaken"
            await #expect(throws: CKError.self) { _ = try await phone.own.save(held) }
        case .recordHidden:
            try await lie {
                $0.hide("One")
            } during: {
                do {
                    _ = try await text("One", laptop.own)
                } catch let error as CKError where error.code == .unknownItem && !isHonest {
                    // What an app is told of every record that was deleted.
                }
            }
        case .conflictRolledBack:
            let stale = try await laptop.own.record(for: Self.id("One"))
            let older = try #require(liar.versions(of: "One").first)
            try await write("secret later text", to: "One", phone.own)
            try await feed(phone.own)
            try await feed(laptop.own)
            try await lie {
                $0.show(older, keepingTag: true)
            } during: {
                stale.encryptedValues["text"] = "secret text of the laptop"
                do {
                    _ = try await laptop.own.save(stale)
                    Issue.record("there is a conflict")
                } catch let error as CKError where error.code == .serverRecordChanged {
                    let text = error.serverRecord?.encryptedValues["text"] as? String
                    if isHonest { #expect(text == "secret later text") }
                }
            }
        case .saveAnswerSwapped:
            let older = try #require(liar.versions(of: "One").first)
            let record = try await phone.own.record(for: Self.id("One"))
            record.encryptedValues["text"] = "secret later text"
            try await lie { exchange in
                if exchange.endpoint == "records/modify" { exchange.show(older, keepingTag: true) }
            } during: {
                _ = try await phone.own.save(record)
            }
        case .saveDropped:
            let record = try await phone.own.record(for: Self.id("One"))
            record.encryptedValues["text"] = "secret later text"
            let base = try #require(liar.versions(of: "One").last)
            try await intercept(
                { request, _ in
                    guard Exchange.place(request.url).endpoint == "records/modify" else { return nil }
                    return .acknowledgement(of: request, base: base)
                }, unnoticed: { _ = try await phone.own.save(record) },
                during: {
                    // The cloud does not know of it, here or later.
                    try await self.feed(phone.own, since: known)
                    try await read("secret later text", of: "One", phone.own)
                })
        case .feedOmitsRecord, .feedOmitsDeletion, .feedFrozen:
            if attack == .feedOmitsDeletion {
                try await phone.own.deleteRecord(withID: Self.id("Two"))
            } else {
                _ = try await phone.own.save(Self.note("Three"))
            }
            try await feed(phone.own)
            try await playOmission(phone, laptop, since: known, whole)
        case .deletionInvented:
            try await lie { exchange in
                guard exchange.endpoint == "changes/zone", exchange.device == laptop.name else { return }
                exchange.change { answer in
                    answer.mutateObjects { zone in
                        guard zone["records"] != nil else { return }
                        zone.mutateItems(of: "records") { records in
                            records.append(["recordName": "Two", "recordType": "Note", "deleted": true])
                        }
                    }
                }
            } unnoticed: {
                try await self.feed(laptop.own, since: known)
                try await self.feed(laptop.own, since: known)
            } during: {
                try await feed(phone.own)
            }
        case .newDeviceMisled, .omissionCoveredByDeletion, .deletedAndRolledBack:
            try await playMisleading(phone, laptop, since: known)
        case .statesStripped, .stateWithheld, .stateWithheldFromNewDevice, .stateOlder, .stateRelabelled, .stateDamaged,
            .ownStateDropped, .incarnationInvented, .incarnationTakenBack:
            try await playStates(phone, laptop)
        case .feedRolledBack:
            try await write("secret later text", to: "One", phone.own)
            try await feed(phone.own)
            try await feed(laptop.own)
            try await lie {
                if $0.endpoint == "changes/zone" { $0.answer = whole }
            } during: {
                try await feed(laptop.own)
            }
        case .historiesForked:
            try await playFork(phone, laptop)
        case .historiesMerged:
            try await playMerge(phone, laptop)
        case .queryOmitsRecord:
            try await lie { exchange in
                guard exchange.endpoint == "records/query" else { return }
                exchange.change { $0.mutateItems(of: "records") { $0.removeAll { $0.recordName == "One" } } }
            } during: {
                try await Reading.query.read("One", Self.zone, laptop.own)
            }
        case .zoneHidden:
            try await lie { exchange in
                guard exchange.endpoint == "zones/list" else { return }
                exchange.change {
                    $0.mutateItems(of: "zones") { $0.removeAll { $0["zoneID", "zoneName"] == "Notes" } }
                }
            } during: {
                _ = try await laptop.own.allRecordZones()
            }
        case .zoneDeletionInvented:
            try await lie { exchange in
                guard exchange.endpoint == "changes/database" else { return }
                exchange.change { answer in
                    answer.mutateItems(of: "zones") { zones in
                        zones = [["zoneID": ["zoneName": "Notes"], "deleted": true]]
                    }
                }
            } during: {
                _ = try await laptop.own.databaseChanges(since: nil)
            }
        case .zoneEpochLowered, .zoneEpochRaised:
            try await phone.own.requests().raiseKeyEpoch(of: Self.zone.model)
            _ = try await laptop.own.recordZone(for: Self.zone)
            let epoch = attack == .zoneEpochLowered ? 0 : 7
            try await lie { exchange in
                exchange.change { answer in
                    answer.mutateObjects { if $0["keyEpoch"] != nil { $0["keyEpoch"] = JSON(epoch) } }
                }
            } during: {
                _ = try await laptop.own.recordZone(for: Self.zone)
            }
        default: Issue.record("\(attack) is not an attack of feeds")
        }
    }

    /// Leaves something out of what the laptop is shown.
    private func playOmission(
        _ phone: Device, _ laptop: Device, since known: CKServerChangeToken, _ whole: JSON
    ) async throws {
        let attack = attack
        let token = whole["zones"]?.items?.first?["syncToken"]
        try await lie { exchange in
            guard exchange.device == laptop.name, exchange.endpoint == "changes/zone" else { return }
            exchange.change { answer in
                answer.mutateObjects { zone in
                    guard zone["records"] != nil else { return }
                    zone.mutateItems(of: "records") { records in
                        switch attack {
                        case .feedOmitsRecord: records.removeAll { $0.recordName == "Three" }
                        case .feedOmitsDeletion: records.removeAll { $0.recordName == "Two" }
                        default: records = []
                        }
                    }
                    if attack == .feedFrozen { zone["syncToken"] = token }
                }
            }
        } during: {
            try await feed(laptop.own, since: known)
        }
    }

    /// Says that a record is not there, or no longer there.
    private func playMisleading(_ phone: Device, _ laptop: Device, since known: CKServerChangeToken) async throws {
        let attack = attack
        let older = try #require(liar.versions(of: "One").first)
        switch attack {
        case .deletedAndRolledBack: try await write("secret later text", to: "One", phone.own)
        default: _ = try await phone.own.save(Self.note("Three"))
        }
        try await feed(phone.own)
        let reader = attack == .newDeviceMisled ? try await device("ada", "tablet") : laptop
        let name = attack == .deletedAndRolledBack ? "One" : "Three"
        let returns = Mutex(false)
        try await lie { exchange in
            guard exchange.device == reader.name, exchange.endpoint.hasPrefix("changes/zone") else { return }
            let isBack = returns.withLock { $0 }
            exchange.change { answer in
                answer.mutateObjects { zone in
                    guard zone["records"] != nil else { return }
                    zone.mutateItems(of: "records") { records in
                        records.removeAll { $0.recordName == name }
                        if isBack { records.append(older) }
                        guard attack != .newDeviceMisled, !isBack else { return }
                        records.append(["recordName": .string(name), "recordType": "Note", "deleted": true])
                    }
                }
            }
        } unnoticed: {
            if attack == .newDeviceMisled { return }
            try await self.feed(reader.own, since: known)
            try await self.feed(reader.own, since: known)
            if attack == .omissionCoveredByDeletion { return }
            if isHonest { return }
            returns.withLock { $0 = true }
            try await self.feed(reader.own, since: known)
        } during: {
            try await feed(attack == .newDeviceMisled ? reader.own : phone.own)
        }
    }

    /// Changes what the laptop is shown of the states that devices wrote.
    private func playStates(_ phone: Device, _ laptop: Device) async throws {
        let attack = attack
        for text in ["secret first text", "secret later text"] {
            for device in [phone, laptop] {
                try await write(text, to: "One", device.own)
                try await feed(phone.own)
                try await feed(laptop.own)
            }
        }
        let name = try #require(phone.zoneDevice(in: Self.zone))
        let own = try #require(laptop.zoneDevice(in: Self.zone))
        let states = liar.traffic.flatMap { $0.answer.zoneStates(of: name) }
        let older = try #require(states.first)
        #expect(states.last != older)
        // Devices that have read the states get them without bytes: a new one gets them all.
        let isNew = [.stateWithheldFromNewDevice, .stateRelabelled, .stateDamaged].contains(attack)
        let reader = isNew ? try await device("ada", "tablet") : laptop
        let isOver = Mutex(false)
        try await lie { exchange in
            guard exchange.device == reader.name, exchange.endpoint == "changes/zone" else { return }
            if isOver.withLock({ $0 }) { return }
            exchange.change { answer in
                answer.mutateObjects { zone in
                    guard zone["zoneStates"] != nil else { return }
                    attack.forge(&zone, phone: name, laptop: own, older: older)
                }
            }
        } unnoticed: {
            guard attack == .incarnationTakenBack else { return }
            try await self.feed(reader.own)
            isOver.withLock { $0 = true }
        } during: {
            try await feed(reader.own)
        }
    }

    /// Each device is shown its own new records only.
    private func playFork(_ phone: Device, _ laptop: Device) async throws {
        try await lie { exchange in
            let others = exchange.device == phone.name ? "L" : "P"
            exchange.change { answer in
                answer.mutateObjects { zone in
                    guard zone["records"] != nil else { return }
                    zone.mutateItems(of: "records") { $0.removeAll { $0.recordName?.hasPrefix(others) == true } }
                }
            }
        } during: {
            for number in 1...2 {
                _ = try await phone.own.save(Self.note("P\(number)"))
                _ = try await laptop.own.save(Self.note("L\(number)"))
                try await feed(phone.own)
                try await feed(laptop.own)
            }
        }
    }

    /// The laptop's version of a record is acknowledged and forgotten; then the phone's is shown.
    private func playMerge(_ phone: Device, _ laptop: Device) async throws {
        let record = try await laptop.own.record(for: Self.id("One"))
        let base = try #require(liar.versions(of: "One").last)
        try await write("secret text of the phone", to: "One", phone.own)
        record.encryptedValues["text"] = "secret text of the laptop"
        try await intercept(
            { request, device in
                guard device == laptop.name, Exchange.place(request.url).endpoint == "records/modify" else {
                    return nil
                }
                return .acknowledgement(of: request, base: base)
            },
            unnoticed: {
                if isHonest { return }
                _ = try await laptop.own.save(record)
                liar.stop()
            },
            during: { try await read("secret text of the phone", of: "One", laptop.own) })
    }
}

extension Attack {
    /// Changes the states in an answer about a zone.
    fileprivate func forge(_ zone: inout JSON, phone: String, laptop: String, older: JSON) {
        switch self {
        case .statesStripped: zone["zoneStates"] = nil
        case .incarnationInvented, .incarnationTakenBack: zone["zoneStates"] = ["incarnation": "1-1"]
        default:
            zone["zoneStates"]?.mutateItems(of: "states") { states in
                states = states.compactMap { state in
                    var state = state
                    switch self {
                    case .ownStateDropped: return state["device"]?.text == laptop ? nil : state
                    case _ where state["device"]?.text != phone: return state
                    case .stateWithheld, .stateWithheldFromNewDevice: return nil
                    case .stateOlder: return older
                    case .stateRelabelled: state["state"] = older["state"]
                    case .stateDamaged:
                        var bytes = state["state"]?.text.flatMap { Data(base64Encoded: $0) }.map(Array.init) ?? []
                        bytes[bytes.count - 20] ^= 1
                        state["state"] = JSON(base64: bytes)
                    default: break
                    }
                    return state
                }
            }
        }
    }
}

extension JSON {
    /// The states of a device in an answer, with their bytes.
    fileprivate func zoneStates(of device: String) -> [JSON] {
        var states: [JSON] = []
        visit { object in
            guard object["device"]?.text == device, object["state"] != nil, object["number"] != nil else { return }
            states.append(object)
        }
        return states
    }
}

extension Device {
    /// The name of this device in a zone.
    fileprivate func zoneDevice(in zone: CKRecordZone.ID) -> String? {
        let requests = own.requests()
        guard let salt = requests.connection.keys.salt(of: zone.model) else { return nil }
        return requests.connection.keys.zones.deviceName(in: salt)
    }
}

extension Exchange {
    /// Shows another version of a record, wherever it is.
    mutating func show(_ version: JSON, keepingTag: Bool = false) {
        guard let name = version.recordName, endpoint.hasPrefix("records") || endpoint == "changes/zone" else { return }
        change { answer in
            answer.mutateRecord(name) { record in
                guard record["zoneID"] == version["zoneID"] else { return }
                let tag = record["recordChangeTag"]
                record = version
                if keepingTag { record["recordChangeTag"] = tag }
            }
        }
    }

    /// Says that there is no such record.
    mutating func hide(_ name: String) {
        change { answer in
            answer.mutateRecord(name) { record in
                record = [
                    "recordName": .string(name), "serverErrorCode": "NOT_FOUND", "reason": "Record not found",
                    "uuid": "0",
                ]
            }
        }
    }
}

extension TransportResponse {
    /// Says that a record was saved.
    ///
    /// - Parameter base: The record as it was.
    static func acknowledgement(of request: TransportRequest, base: JSON) -> TransportResponse? {
        guard let body = JSON(request.body), let operations = body["operations"]?.items else { return nil }
        let records = operations.compactMap { operation -> JSON? in
            guard let change = operation["record"], change.recordName == base.recordName else { return nil }
            var record = base
            for field in change["fields"]?.pairs ?? [] { record["fields", field.key] = field.value }
            record["protection"] = change["protection"]
            record["recordChangeTag"] = "dropped"
            return record
        }
        return TransportResponse(status: 200, body: JSON.object([.init(key: "records", value: .array(records))]).bytes)
    }
}
