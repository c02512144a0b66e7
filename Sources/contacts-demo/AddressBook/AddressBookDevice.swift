import CloudKit

/// One of the user's devices, with its own profile, credentials and copy of the address book.
struct AddressBookDevice {
    let name: String
    let container: CKContainer
    var book = AddressBook()

    init(name: String, profile: String, container: String) {
        self.name = name
        self.container = CKContainer(identifier: container, profile: profile)
    }

    var database: CKDatabase { container.privateCloudDatabase }
}
