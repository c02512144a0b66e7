import CloudKitEncryption
import CloudKitModel
import CloudKitWire
import Foundation
import IdentityDirectory

/// Look-ups in the cloud's verifiable directory of identities (docs/directory.md).
extension DatabaseRequests {
    /// Looks entries up and verifies them, with the history of the directory since this device's last look-up.
    ///
    /// - Parameter users: Record names in this container.
    /// - Returns: The entries of the addresses, then those of the users; nil where there is none.
    func directoryEntries(
        addresses: [String] = [], users: [String] = []
    ) async throws -> [DirectoryProof.OpenedEntry?] {
        let container = try connection.cloud.place.get().container.name
        let labels =
            addresses.map { DirectoryLabel.address($0) } + users.map { DirectoryLabel.user($0, container: container) }
        let follower = connection.directory
        for _ in 0..<Self.directoryAttemptsMax {
            let seen = try follower.head
            let answer = try await directoryAnswer(
                DirectoryLookupRequest(addresses: addresses, users: users, heads: seen.map { [$0.number] } ?? []))
            do {
                return try follower.take(answer, for: labels, seen: seen)
            } catch is DirectoryFollower.HeadMoved {
                continue
            } catch let error as DirectoryError {
                throw failure(of: error)
            }
        }
        throw CallFailure.refused(
            RequestFailure(.tryAgainLater, "other processes look into the directory", remedy: "Try again."))
    }

    /// Converts what is wrong with an answer of the directory.
    private func failure(of error: DirectoryError) -> CallFailure {
        let failure = CallFailure.tampered(error.description)
        guard error.isOfEarlierState else { return failure }
        return connection.cloud.restorations.failure(
            failure, of: "The directory of identities", listedAs: "directory of identities")
    }

    private static var directoryAttemptsMax: Int { 5 }

    private func directoryAnswer(_ request: DirectoryLookupRequest) async throws -> DirectoryLookupAnswer {
        let requests = DatabaseRequests(connection: connection, scope: .public, settings: settings)
        return try await requests.call(.lookupDirectory, request.wire(), needsUser: true) {
            try DirectoryLookupAnswer(wireAnswer: $0)
        }
    }

    // MARK: Heads that others have seen

    /// The newest head of the directory that this device has verified; nil: none yet.
    package func newestDirectoryHead() throws -> DirectoryHeadReference? {
        guard let reference = try connection.directory.head?.reference else { return nil }
        connection.directory.noteChecked(reference)
        return reference
    }

    /// Returns the head of the directory that a statement to others names; nil: none was verified yet, or the cloud says that it was restored and
    /// shows an earlier directory, in which others could not find the head.
    package func headForStatement() async throws -> DirectoryHeadReference? {
        if connection.cloud.hasOpenRestoration {
            do {
                _ = try await directoryEntries()
            } catch CallFailure.earlierState {
                return nil
            }
        }
        return try newestDirectoryHead()
    }

    /// Verifies that a head that another person's device has seen is part of the history that this device is shown.
    ///
    /// - Throws: `CallFailure.tampered` where the cloud shows the two devices different directories; `.earlierState`.
    package func check(_ reference: DirectoryHeadReference) async throws {
        let follower = connection.directory
        if follower.isChecked(reference) { return }
        for _ in 0..<Self.directoryAttemptsMax {
            let seen = try follower.head
            let answer = try await directoryAnswer(
                DirectoryLookupRequest(heads: (seen.map { [$0.number] } ?? []) + [reference.number]))
            do {
                _ = try follower.take(answer, for: [], seen: seen)
                try DirectoryFollower.verifyHistory(
                    from: reference, in: answer, to: DirectoryHead(bytes: answer.head),
                    DirectoryKeys(bytes: answer.keys))
                follower.noteChecked(reference)
                return
            } catch is DirectoryFollower.HeadMoved {
                continue
            } catch let error as DirectoryError {
                throw failure(of: error)
            }
        }
        throw CallFailure.refused(
            RequestFailure(.tryAgainLater, "other processes look into the directory", remedy: "Try again."))
    }

    // MARK: Identities of participants

    /// Looks up the identities of a share's participants that this device does not know, and pins those that the directory has.
    ///
    /// - Throws: `CallFailure.tampered` where the cloud names another identity than its directory.
    func verifyIdentities(of sharing: Share, in zone: ZoneAddress, except user: String) async throws {
        let pins = try connection.keys.identities.known
        let now = connection.cloud.clientEnvironment.now()
        var strangers: [(name: String, user: String, address: String?, identity: PublicIdentity)] = []
        for participant in sharing.participants where participant.acceptance != .removed {
            guard let named = participant.identity.user, named.recordName != user,
                let bytes = participant.identity.publicIdentity, let identity = try? PublicIdentity(bytes: bytes)
            else { continue }
            let name = IdentityPins.name(of: named.recordName, in: zone)
            if pins.fingerprint(of: name) != nil { continue }
            if let failure = connection.directory.refusal(of: name, identity.fingerprint, now: now) {
                if case .tampered = failure { throw failure }
                continue
            }
            let address = participant.identity.lookup?.emailAddress.map(Self.normalised)
            strangers.append((name, named.recordName, address, identity))
        }
        var failure: CallFailure?
        // Two labels each, and 32 of a look-up.
        for start in stride(from: 0, to: strangers.count, by: 16) {
            let part = strangers[start..<min(start + 16, strangers.count)]
            let addressed = part.filter { $0.address != nil }
            let entries = try await directoryEntries(
                addresses: addressed.compactMap(\.address), users: part.map(\.user))
            let byAddress = Dictionary(
                zip(addressed.map(\.name), entries), uniquingKeysWith: { first, _ in first })
            for (stranger, entry) in zip(part, entries.dropFirst(addressed.count)) {
                let found = stranger.address == nil ? [entry] : [entry, byAddress[stranger.name] ?? nil]
                if found.allSatisfy({ $0?.publicIdentity == stranger.identity }) {
                    try connection.keys.pin(stranger.identity, of: stranger.name)
                    continue
                }
                // An entry without keys, or none: the participant waits.
                let isOther = found.contains { entry in
                    guard let entry, !entry.identity.isEmpty else { return false }
                    return entry.publicIdentity != stranger.identity
                }
                let reason =
                    isOther
                    ? CallFailure.tampered(
                        "The cloud gives user '\(stranger.user)' another identity than its own directory shows")
                    : .keysMissing("User '\(stranger.user)' is not in the cloud's directory yet")
                connection.directory.note(reason, of: stranger.name, stranger.identity.fingerprint, now: now)
                if isOther { failure = reason }
            }
        }
        if let failure { throw failure }
    }

    /// The form of an address under which the directory holds it.
    static func normalised(_ address: String) -> String {
        address.trimmingCharacters(in: .whitespacesAndNewlines).precomposedStringWithCanonicalMapping.lowercased()
    }

    // MARK: The account's own entry

    /// Looks at the account's own entries, at the first call after a sign-in and at most once an hour.
    ///
    /// - Throws: `CallFailure.tampered` where the directory shows others another identity of this account, or not this device, and the cloud
    ///   says that the account's keys and this device's session are current; the failure of asking it; no other error of the connection.
    package func checkOwnEntryIfDue() async throws {
        guard case .available(let current, _) = connection.cloud.account.state,
            let identity = try? connection.cloud.account.secret().identity().publicIdentity,
            connection.directory.beginsOwnEntryCheck(
                of: "\(current.email) \(current.id)", now: connection.cloud.clientEnvironment.now())
        else { return }
        do {
            try await checkOwnEntry(email: current.email, device: current.id, identity: identity)
        } catch CallFailure.tampered(let reason) {
            connection.directory.forgetOwnEntryCheck()
            // Keys that were reset, and a session that was ended, change the entry as well: the cloud then refuses this device.
            let account = connection.cloud.account
            do {
                try await account.verify()
            } catch {
                try account.state.check(account)
                // Without an answer neither is known.
                throw CallFailure(account: error)
            }
            try account.state.check(account)
            // The entry lists the device that the user has signed in since.
            guard account.state.device?.id == current.id else { return }
            throw CallFailure.tampered(reason)
        } catch {
            connection.directory.forgetOwnEntryCheck()
        }
    }

    private func checkOwnEntry(email: String, device: String, identity: PublicIdentity) async throws {
        let user: String
        if let known = connection.cloud.account.userRecordName {
            user = known
        } else {
            user = try await currentUser().recordName
        }
        let address = Self.normalised(email)
        let entries = try await directoryEntries(addresses: [address], users: [user])
        for (entry, name) in zip(entries, ["your address", "you"]) {
            guard let entry else {
                throw CallFailure.tampered(
                    "The cloud's directory has no entry for \(name), so others cannot verify your keys")
            }
            guard entry.publicIdentity == identity else {
                throw CallFailure.tampered("The cloud's directory shows others keys for \(name) that are not yours")
            }
            guard case .shown(let devices, _) = entry.devices,
                devices.list.contains(where: { $0.id == DirectoryDevice.hash(of: device) })
            else {
                throw CallFailure.tampered("The cloud's directory does not list this device for \(name)")
            }
            if name == "you" { try connection.directory.note(devices: devices, of: address) }
        }
    }

    /// Returns the hashes of devices that signed in to the account since this device first saw its list.
    package func newDevices() throws -> [String] {
        guard case .available(let device, _) = connection.cloud.account.state else { return [] }
        return try connection.directory.newDevices(of: Self.normalised(device.email))
    }
}

extension DirectoryProof.OpenedEntry {
    /// The identity of the entry; nil for none, and for one that is malformed.
    fileprivate var publicIdentity: PublicIdentity? { try? PublicIdentity(bytes: identity) }
}
