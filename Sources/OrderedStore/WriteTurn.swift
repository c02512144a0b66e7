/// Those for whom a task writes.
package enum WriteTurn {
    /// The user for whom the current task writes; nil: writes count as those of their home partition.
    ///
    /// An engine with one writer gives users their turns one after the other, so that many writes of one user delay a write of another
    /// by one of them at most.
    @TaskLocal package static var user: String?
}
