import CloudKitModel

extension RequestFailure {
    /// Data other than a record, such as a zone's, whose stored bytes are damaged.
    static let dataDamaged = RequestFailure(
        .internalError, "data that the request needs is damaged in the cloud's store",
        remedy: "Ask the operator of the cloud to run welkin check and to restore the store.")

    /// A record whose stored bytes are damaged; other records can be read.
    static let recordDamaged = RequestFailure(
        .internalError, "the record is damaged in the cloud's store",
        remedy: "Ask the operator of the cloud to run welkin check and to restore the record.")

    /// A page of a feed with damaged records: a device must not skip them.
    static func recordsDamaged(_ names: Set<String>) -> RequestFailure {
        let shown = names.sorted().prefix(3).joined(separator: ", ")
        return RequestFailure(
            .internalError, "records of the zone are damaged in the cloud's store: \(shown)",
            remedy: "Ask the operator of the cloud to run welkin check and to restore the records.")
    }
}
