import CloudKitEncryption
import CloudKitModel

/// Compares the versions of records with those that this device has seen.
extension DatabaseRequests {
    /// Turns records that are older than those seen before this operation began into errors, and remembers the others.
    ///
    /// - Parameters:
    ///   - stated: For each record whether it came with a statement.
    ///   - keys: Of the zones in which something was opened.
    func checkVersions(of records: inout [OpenedRecord], stated: [Bool], _ keys: [ZoneID: ZoneKeys]) {
        // Answers that were kept while the app did not run are of any age.
        guard longLivedRun == nil else { return }
        var names: [(zone: ZoneID, seen: [(name: String, version: StatedVersion?)])] = []
        var index = 0
        for opened in records {
            guard case .success = opened.values else { continue }
            let id = opened.record.id
            // Most records are in the zone of the one before them.
            if !names.indices.contains(index) || names[index].zone != id.zoneID {
                index = names.firstIndex { $0.zone == id.zoneID } ?? names.count
                if index == names.count { names.append((id.zoneID, [])) }
            }
            names[index].seen.append((id.recordName, opened.version))
        }
        for (zone, seen) in names {
            guard let salt = keys[zone]?.salt ?? connection.keys.salt(of: zone) else { continue }
            let restorations = connection.cloud.restorations
            let claimed = restorations.claimed
            let comparison = connection.keys.versions.see(seen, in: salt, since: versionsMark, claimed: claimed)
            restorations.note(
                older: comparison.lost.sorted().map { "\(zone.zoneName)/\($0)" },
                returned: comparison.returned.map { "\(zone.zoneName)/\($0)" })
            let failures = comparison.failures
            if failures.isEmpty { continue }
            // Statements of shares are compared with earlier ones when they are opened.
            for index in records.indices
            where records[index].record.id.zoneID == zone && records[index].record.sharing == nil {
                let name = records[index].record.id.recordName
                guard let failure = failures[name] else { continue }
                if comparison.lost.contains(name) {
                    if !acceptsLostVersions {
                        records[index].values = .failure(.lostVersion(record: name, restoredTo: claimed.restoredTo))
                    }
                    continue
                }
                // A statement whose key could not be fetched is no sign of a cloud that changed data.
                let isUnchecked = failure == .notAsStated(.noStatement) && stated[index]
                let waiting =
                    keys[zone]?.shared.lookUpFailure
                    ?? .waitingForKey("Record '\(name)': its statement cannot be checked yet")
                records[index].values = .failure(isUnchecked ? waiting : CallFailure(failure, record: name))
            }
        }
    }

    /// Returns the names of the records without sealed values whose statement has to be compared with what this device has seen of
    /// them: that needs the record's key, also if nothing sealed was asked for.
    func remembered(of records: [Record], in zone: ZoneID) -> Set<String> {
        let stated = records.filter { $0.isStated && !$0.isSealed }.map(\.id.recordName)
        guard !stated.isEmpty, let salt = connection.keys.salt(of: zone) else { return [] }
        return connection.keys.versions.known(of: stated, in: salt, since: versionsMark)
    }

    /// Remembers that records were deleted.
    ///
    /// - Parameter incarnation: The zone's when the request began, for the account's other devices; nil: they are not told.
    func forget(_ names: [String], in zone: ZoneID, incarnation: String? = nil) {
        guard scope != .public, !names.isEmpty, let salt = connection.keys.salt(of: zone) else { return }
        let deletions = connection.keys.versions.forget(names, in: salt, since: versionsMark)
        if let incarnation { connection.keys.zones.note(deletions, in: salt, incarnation: incarnation) }
    }
}

extension ZoneKeys {
    /// The salt of what the account remembers of the zone.
    var salt: ZoneSalt { access.root.salt(of: place) }
}
