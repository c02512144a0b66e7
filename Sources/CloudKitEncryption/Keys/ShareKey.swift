/// The key of a share in one epoch: every member has it, and removing one starts a new epoch (B-TM-05).
///
/// Its owner derives it; members get it by an invitation or a link.
package struct ShareKey: Equatable, Sendable {
    /// The share's record.
    package let place: RecordAddress
    /// The epoch of the key.
    package let epoch: UInt32
    let material: KeyMaterial

    /// Creates a random key, which no owner would derive; for tests.
    package init(madeFor place: RecordAddress, epoch: UInt32, random: Randomness = .system) {
        self.init(place: place, epoch: epoch, material: random.key())
    }

    init(place: RecordAddress, epoch: UInt32, material: KeyMaterial) {
        self.place = place
        self.epoch = epoch
        self.material = material
    }
}

extension ContainerRoot {
    /// The key of one of the account's own shares. Every device of the owner derives the same, so that nothing has to be
    /// kept and no two devices race; and what members sealed opens for the owner when the share has ended.
    package func shareKey(of share: RecordAddress, epoch: UInt32) -> ShareKey {
        var info = Frame("welkin share key 1")
        info.append(share.frame)
        info.append(epoch)
        return ShareKey(place: share, epoch: epoch, material: material.derive(info))
    }
}
