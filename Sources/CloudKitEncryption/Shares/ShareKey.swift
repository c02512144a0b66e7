/// The key of a share in one epoch: every member has it, and removing one starts a new epoch (B-TM-05).
package struct ShareKey: Equatable, Sendable {
    /// Where the share's record lies.
    package let place: RecordPlace
    package let epoch: UInt32
    let material: KeyMaterial

    /// A new share's key, or that of a new epoch.
    package init(madeFor place: RecordPlace, epoch: UInt32, random: Randomness = .system) {
        self.init(place: place, epoch: epoch, material: random.key())
    }

    init(place: RecordPlace, epoch: UInt32, material: KeyMaterial) {
        self.place = place
        self.epoch = epoch
        self.material = material
    }
}
