import CloudKitModel
import CloudKitRecordLayer
import IdentityDirectory

/// A subject whose entries in the directory may have to change, noted in the transaction that changes it.
enum PendingDirectoryChange: RowKey {
    /// All entries of an account.
    case account(String)
    /// The entry of one address or user.
    case label(DirectoryLabel)

    /// The text of the key.
    var rowText: String {
        switch self {
        case .account(let id): "account/" + id
        case .label(.address(let address)): "address/" + address
        case .label(.user(let user, let container)): "user/\(container)/\(user)"
        }
    }

    init?(rowText: String) {
        let parts = rowText.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        switch parts[0] {
        case "account": self = .account(parts[1])
        case "address": self = .label(.address(parts[1]))
        case "user":
            // A container's name has no slash.
            let names = parts[1].split(separator: "/", maxSplits: 1).map(String.init)
            guard names.count == 2 else { return nil }
            self = .label(.user(names[1], container: names[0]))
        default: return nil
        }
    }

    /// subject → nothing
    static let table = RowTable<PendingDirectoryChange, String>("directory-pending")
}

extension StorageWriter {
    /// Notes that the directory has to look at a subject again.
    mutating func noteDirectoryChange(_ change: PendingDirectoryChange) throws {
        try PendingDirectoryChange.table.set(change, to: "", in: &self)
    }
}
