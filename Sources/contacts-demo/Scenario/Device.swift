import CloudKit

/// One of the user's devices: its own profile, and so its own credentials and its own copy of the address book.
struct Device {
    let name: String
    let container: CKContainer
    var book = AddressBook()

    init(name: String, profile: String, container: String) {
        self.name = name
        self.container = CKContainer(identifier: container, profile: profile)
    }

    var database: CKDatabase { container.privateCloudDatabase }
}
