import CloudKitClient
import CloudKitDevice
import Foundation

/// The settings that `configuredWith` gives the convenience functions of a container or database.
struct CallDefaults: Sendable {
    var configuration: CKOperation.Configuration?
    var group: CKOperationGroup?
    /// The account for whose user the calls are; nil: that of each call.
    var account: AccountState?

    init(
        _ configuration: CKOperation.Configuration? = nil, _ group: CKOperationGroup? = nil,
        _ account: AccountState? = nil
    ) {
        self.configuration = configuration?.snapshot()
        self.group = group
        self.account = account
    }

    /// The settings of one convenience call, which is user-initiated unless someone said otherwise (B-OPS-04).
    func settings() -> CallSettings {
        let chosen = (configuration?.chosen ?? OperationSettings()).over(group?.defaultConfiguration.chosen)
        var settings = chosen.settings(
            operationID: UUID().uuidString, group: group, qualityOfServiceDefault: .userInitiated)
        settings.account = account
        return settings
    }

    /// Applies the same settings to an operation that implements a completion-handler form.
    func apply(to operation: CKOperation) {
        let configuration = configuration?.snapshot() ?? CKOperation.Configuration()
        if configuration.chosen.over(group?.defaultConfiguration.chosen).qualityOfService == nil {
            configuration.qualityOfService = .userInitiated
        }
        operation.configuration = configuration
        operation.group = group
    }
}
