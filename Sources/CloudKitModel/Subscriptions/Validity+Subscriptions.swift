extension Validity {
    /// Fields that may travel with a notification (B-PSH-06).
    package static let additionalFieldsMax = 3
    /// Fields that may go into one localised text.
    package static let localizationArgsMax = 10
    /// The maximum size of all texts of a notification's info together, in bytes: the limit of a payload.
    package static let notificationInfoBytesMax = 4096

    /// The maximum size of the values that a query subscription compares with, in bytes: a list of all subscriptions stays small.
    package static let subscriptionBytesMax = 16_384

    /// Checks a subscription as far as possible without the cloud: its name, its options, its notification (B-SUB-03,
    /// B-PSH-06).
    ///
    /// - Throws: `badRequest`, `sizeLimitExceeded`.
    package static func subscription(_ subscription: Subscription) throws(RequestFailure) {
        guard isPlainName(subscription.id) else {
            throw RequestFailure(
                .badRequest, "Invalid subscription ID.", remedy: "Use 1 to 255 ASCII characters.")
        }
        if case .query(let query) = subscription.interest, query.firesOn.isEmpty {
            throw RequestFailure(
                .badRequest, "A query subscription must fire on at least one of create, update and delete.",
                remedy: "Name what it fires on.")
        }
        if case .query(let query) = subscription.interest { try condition(query.query) }
        if let info = subscription.notificationInfo { try notificationInfo(info) }
    }

    private static func condition(_ query: Query) throws(RequestFailure) {
        var bytes = 0
        for filter in query.filters { bytes += try filter.value.json().count }
        guard bytes <= subscriptionBytesMax else {
            throw RequestFailure(
                .sizeLimitExceeded, "The values of a subscription's predicate exceed \(subscriptionBytesMax) bytes.",
                remedy: "Compare with fewer or shorter values.")
        }
    }

    private static func notificationInfo(_ info: NotificationInfo) throws(RequestFailure) {
        guard info.additionalFields.count <= additionalFieldsMax else {
            throw RequestFailure(
                .badRequest, "A notification carries at most \(additionalFieldsMax) fields of the record.",
                remedy: "Name fewer desired keys and fetch the record.")
        }
        guard info.lists.allSatisfy({ $0.count <= localizationArgsMax }) else {
            throw RequestFailure(
                .badRequest, "A localized text of a notification takes at most \(localizationArgsMax) arguments.")
        }
        let bytes =
            info.texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
            + info.lists.joined().reduce(0) { $0 + $1.utf8.count }
        guard bytes <= notificationInfoBytesMax else {
            throw RequestFailure(
                .badRequest, "The texts of a notification exceed \(notificationInfoBytesMax) bytes.",
                remedy: "Use localization keys instead of texts.")
        }
    }
}
