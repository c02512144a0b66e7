/// What the current task says about its next write.
package enum WriteTurn {
    /// The user for whom the current task writes; nil: writes count as those of their home partition.
    ///
    /// An engine with one writer gives users their turns one after the other, so that many writes of one user delay a write of another
    /// by one of them at most.
    @TaskLocal package static var user: String?

    /// The keys of the home partition that the body is about to read; empty: they are not known.
    ///
    /// An engine for which each read takes a round trip reads those of all waiting writers together. A key that the body does not read costs
    /// its look-up, and nothing else.
    @TaskLocal package static var expectedKeys: [Bytes] = []
}
