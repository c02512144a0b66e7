import CDeterministicProcess
import CloudKit
import CloudKitAccounts
import CloudKitDevice
import CloudKitModel
import CloudKitServer
import Foundation

/// One history of the whole stack, which follows from its seed: users with devices, which do random things at once on a bad network,
/// above a cloud that ends now and then, above a disk that fails.
final class History: Sendable {
    let seed: UInt64
    let trail = Trail()
    let chance: Chance
    let disk: Disk
    let cloud: SimulatedCloud
    let devices: [SimulatedDevice]
    private let found = Shared<[String]>([])

    /// The violations of invariants that were found.
    var violations: [String] { found.value }

    func violated(_ text: String) {
        trail.note("VIOLATED \(text)")
        found.value.append(text)
    }

    private init(seed: UInt64, planted: PlantedFault?) async throws {
        self.seed = seed
        chance = Chance(seed: seed, subject: 0)
        disk = Disk(Chance(seed: seed, subject: 1), trail: trail, planted: planted)
        cloud = SimulatedCloud(disk: disk, trail: trail, name: "cloud-\(seed)")
        cloud.start()
        guard let accounts = cloud.cloud?.accountStore else { throw CancellationError() }
        var tokens: [CloudKitModel.Environment: String] = [:]
        for environment in [CloudKitModel.Environment.development, .production] {
            tokens[environment] =
                try await accounts.apiTokens.create(
                    container: ContainerID(SimulatedCloud.container), environment: environment, name: "simulation"
                ).token
        }
        var devices: [SimulatedDevice] = []
        for name in ["ada", "ben", "cal"] {
            let user = SimulatedUser(name: name)
            let derivation = accounts.accounts.newDerivation(rounds: 10)
            let proof = try PasswordProof(password: user.password, salt: derivation.salt, rounds: derivation.rounds)
            _ = try await accounts.accounts.add(
                email: user.email, name: name, proof: proof.bytes, derivation: derivation)
            for number in 1 ... (name == "cal" ? 1 : 2) {
                let device = SimulatedDevice(
                    "\(name)-\(number)", of: user, at: cloud, apiTokens: tokens,
                    Chance(seed: seed, subject: UInt64(10 + devices.count)), planted: planted)
                try await device.signIn()
                try device.boot()
                devices.append(device)
            }
        }
        self.devices = devices
    }

    /// Runs the history of a seed.
    static func run(seed: UInt64, planted: PlantedFault? = nil) async -> History? {
        do {
            let history = try await History(seed: seed, planted: planted)
            try await history.pass()
            return history
        } catch {
            FileHandle.standardError.write(Data("seed \(seed): \(error)\n".utf8))
            return nil
        }
    }

    private func pass() async throws {
        for device in devices { await device.app?.notes.start() }
        let database = devices[0].app?.container.privateCloudDatabase
        let record = CKRecord(recordType: "Item")
        record["n"] = 3
        record.encryptedValues["secret"] = "s"
        do {
            _ = try await database?.save(record)
        } catch {
            violated("\(error)")
        }
        try await Task.sleep(for: .seconds(60))
        trail.note("end")
    }
}
