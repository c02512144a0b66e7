import CloudKitEncryption
import SeededChance

/// Keys of an invented account, the same in each run.
struct Fixtures {
    let random = Randomness(SplitMix64(seed: 7))
    let secret: AccountSecret
    let root: ContainerRoot

    init() {
        secret = AccountSecret(random: random)
        root = secret.root(container: "iCloud.org.example.notes", environment: "development")
    }

    func zoneKey(_ zone: String = "Notes", owner: String = "_ada", epoch: UInt32 = 0) -> ZoneKey {
        root.zoneKey(owner: owner, zone: zone, epoch: epoch)
    }

    func sealer(_ record: String = "note-1", type: String = "Note", epoch: UInt32 = 0) -> RecordSealer {
        RecordSealer(zoneKey(epoch: epoch).recordKey(record), recordType: type)
    }
}
