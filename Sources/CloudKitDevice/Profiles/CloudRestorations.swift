import CloudKitEncryption
import Foundation

/// What the clouds of a profile said about having been restored from a backup, and what the device noticed after that.
///
/// A restored cloud and one that only says so look the same to a device: so whatever follows from the claim is kept here for the user.
package struct CloudRestorations: Codable, Hashable, Sendable {
    /// One claim of a cloud.
    package struct Claim: Codable, Hashable, Sendable {
        /// The time of the state to which the cloud went back, in milliseconds since 1970; 0 if it is not known.
        package var restoredTo: Int64
        /// The time at which this device noticed, in milliseconds since 1970.
        package var noticed: Int64
        /// The time at which the user accepted the cloud's older versions, in milliseconds since 1970; nil: they did not.
        package var accepted: Int64?
        /// The records and shares that the cloud showed in an older version than this device has seen, `zone/record`, the zones whose keys are of an
        /// earlier epoch, by name, and `directory of identities`; the first hundred.
        package var older: [String] = []
        /// The records that the cloud shows again although this device was told that they were deleted, the first hundred.
        package var returned: [String] = []

        fileprivate static let namesMax = 100

        /// Creates a claim that nobody has accepted.
        package init(restoredTo: Int64, noticed: Int64) {
            self.restoredTo = restoredTo
            self.noticed = noticed
        }
    }

    /// What is known of one cloud.
    package struct Cloud: Codable, Hashable, Sendable {
        /// The epoch of the cloud's store in the last answer.
        package var epoch: String
        /// The time of the state with which the first epoch that this device saw began, at most the time at which it saw that; 0 if it is not
        /// known.
        package var firstRestoredTo: Int64
        /// The claims, the oldest first.
        package var claims: [Claim] = []
    }

    /// The clouds by address.
    package private(set) var clouds: [String: Cloud] = [:]

    private static let claimsMax = 20

    /// Creates an empty value.
    package init() {}

    /// Notes the epoch that a cloud names; another one than before is a claim.
    ///
    /// - Parameters:
    ///   - epoch: The name of the epoch.
    ///   - restoredTo: The time of the state with which it began; 0 if it is not known.
    ///   - endpoint: The address of the cloud.
    ///   - now: Milliseconds since 1970.
    package mutating func note(epoch: String, restoredTo: Int64, of endpoint: String, now: Int64) {
        guard var cloud = clouds[endpoint] else {
            // What was before is not known, and nothing was seen.
            clouds[endpoint] = Cloud(epoch: epoch, firstRestoredTo: min(restoredTo, now))
            return
        }
        guard cloud.epoch != epoch else { return }
        cloud.epoch = epoch
        cloud.claims.append(Claim(restoredTo: restoredTo, noticed: now))
        cloud.claims = cloud.claims.suffix(Self.claimsMax)
        clouds[endpoint] = cloud
    }

    /// Notes records that the newest claim is about.
    package mutating func note(older: [String], returned: [String], of endpoint: String) {
        guard var cloud = clouds[endpoint], var claim = cloud.claims.popLast() else { return }
        claim.older.add(older, countMax: Claim.namesMax)
        claim.returned.add(returned, countMax: Claim.namesMax)
        cloud.claims.append(claim)
        clouds[endpoint] = cloud
    }

    /// The same without the names of records and zones.
    var withoutNames: CloudRestorations {
        var copy = self
        copy.clouds = clouds.mapValues { cloud in
            var cloud = cloud
            for index in cloud.claims.indices { (cloud.claims[index].older, cloud.claims[index].returned) = ([], []) }
            return cloud
        }
        return copy
    }

    /// Whether there is a claim of a cloud that the user has not accepted.
    func hasOpenClaim(of endpoint: String) -> Bool {
        clouds[endpoint]?.claims.contains { $0.accepted == nil } == true
    }

    /// Accepts the older versions of the cloud's claims so far.
    package mutating func accept(of endpoint: String, now: Int64) {
        guard var cloud = clouds[endpoint] else { return }
        for index in cloud.claims.indices where cloud.claims[index].accepted == nil {
            cloud.claims[index].accepted = now
        }
        clouds[endpoint] = cloud
    }
}

extension [String] {
    fileprivate mutating func add(_ names: [String], countMax: Int) {
        for name in names where count < countMax && !contains(name) { append(name) }
    }
}

extension DeviceProfile {
    /// The name of the file of claims, in the folder of the versions of records.
    package static let restorationsFile = "restorations.json"

    private var restorationsPath: String { "\(folder)/\(Self.recordVersionsFolder)/\(Self.restorationsFile)" }

    /// What the clouds of this profile said about having been restored.
    package func restorations() throws -> CloudRestorations {
        try PrivateFile.read(restorationsPath, or: CloudRestorations())
    }

    /// Forgets the names of records and zones in the claims.
    func forgetNamesInRestorations() throws(FileFailure) {
        guard let known = try? restorations(), known.withoutNames != known else { return }
        do {
            // Another process may note a claim at the same time.
            try PrivateFile.change(restorationsPath, from: CloudRestorations()) { $0 = $0.withoutNames }
        } catch let failure as FileFailure {
            throw failure
        } catch {
            // What cannot be read is no list of names.
        }
    }

    /// The name of the file of key epochs that this device has seen.
    package static let keyEpochsFile = "key-epochs.json"
    /// The name of the file of the directories of identities.
    package static let directoryFile = "directory.json"

    /// Accepts the older versions of a cloud that says that it was restored, and its earlier states of shares and of its directory of identities.
    package func acceptRestorations(of endpoint: String) throws {
        guard try restorations().hasOpenClaim(of: endpoint) else { return }
        try PrivateFile.change("\(folder)/\(Self.keyEpochsFile)", from: HighestSeenEpochs()) { $0.acceptEarlierState() }
        try PrivateFile.change("\(folder)/\(Self.directoryFile)", from: DirectoryMemory()) {
            $0.acceptEarlierState(of: endpoint)
        }
        try PrivateFile.change(restorationsPath, from: CloudRestorations()) { $0.accept(of: endpoint, now: Self.now) }
    }
}
