import CloudKitClient
import Foundation

extension LongLivedOperation where Arguments == LongLivedArguments {
    init(
        id: String, account: String, scope: Int, arguments: LongLivedArguments, _ settings: OperationSettings,
        group: Data?, started: Date? = nil
    ) {
        self.init(
            id: id, account: account, scope: scope, arguments: arguments,
            qualityOfService: settings.qualityOfService?.rawValue,
            allowsCellularAccess: settings.allowsCellularAccess, requestTimeout: settings.requestTimeout,
            resourceTimeout: settings.resourceTimeout, group: group, started: started)
    }

    /// The settings with which the operation was started.
    var settings: OperationSettings {
        var settings = OperationSettings()
        settings.isLongLived = true
        settings.qualityOfService = qualityOfService.flatMap { QualityOfService(rawValue: $0) }
        settings.allowsCellularAccess = allowsCellularAccess
        settings.requestTimeout = requestTimeout
        settings.resourceTimeout = resourceTimeout
        return settings
    }
}

extension LongLivedStore {
    /// The operation of this user with this identifier; nil: there is none, or it cannot be read.
    func operation(_ id: String, of owner: LongLivedOwner) -> LongLivedOperation<LongLivedArguments>? {
        operation(id, of: owner, as: LongLivedArguments.self)
    }

    /// The identifiers of a user's operations. Removes those that have waited long enough.
    func ids(of owner: LongLivedOwner, at now: Date) -> [String] {
        ids(of: owner, at: now, as: LongLivedArguments.self)
    }
}
